// The part of frequency_fwd.cuda.02_vectorized that frequency_bwd.cuda.02_vectorized, sh_fwd.cuda.02_vectorized and sh_bwd.cuda.02_vectorized take over as it is.

/// kVector floats from p on by one access.
template <int kVector>
__device__ __forceinline__ void load(const float* __restrict__ p, float (&v)[kVector]) {
  if constexpr (kVector == 4) {
    const float4 four = *reinterpret_cast<const float4*>(p);
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
  } else {
    v[0] = *p;
  }
}

template <int kVector>
__device__ __forceinline__ void store(float* __restrict__ p, const float (&v)[kVector]) {
  if constexpr (kVector == 4) {
    *reinterpret_cast<float4*>(p) = make_float4(v[0], v[1], v[2], v[3]);
  } else {
    *p = v[0];
  }
}
