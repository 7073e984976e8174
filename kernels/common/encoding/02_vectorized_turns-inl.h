// The part of frequency_fwd.cuda.02_vectorized that frequency_bwd.cuda.02_vectorized takes over as it is.

/// sin(pi·x) and cos(pi·x): x modulo 2 and the nearest quarter turn are exact, polynomials of the rest (found by
/// Remez' exchange for |r| <= 1/4), within 2u of 1.
__device__ __forceinline__ void sincos_pi(float x, float& sin, float& cos) {
  const float turn = fmaf(-2, rintf(0.5F * x), x);  // in [-1, 1]
  const float quarters = rintf(turn + turn);        // -2 .. 2
  const float r = fmaf(-0.5F, quarters, turn);      // in [-1/4, 1/4]
  const float z = r * r;
  float p = fmaf(-0.58899582162F, z, 2.54975975414F);
  p = fmaf(fmaf(p, z, -5.1677076572F), z, 3.14159264335F) * r;
  float q = fmaf(0.231357817787F, z, -1.33504987648F);
  q = fmaf(fmaf(fmaf(q, z, 4.05870759331F), z, -4.93480217019F), z, 1);
  // One quarter turn makes (sin, cos) into (cos, -sin); two change both signs.
  const int turns = int(quarters);
  const float s = turns & 1 ? q : p, c = turns & 1 ? p : q;
  sin = turns & 2 ? -s : s;
  cos = (turns + 1) & 2 ? -c : c;
}
