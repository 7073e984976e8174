// cuRAND in kernels: Philox4x32-10 and MRG32k3a with their published sequences, XORWOW from states of klab's own. Other
// generators are not on the host (absent.h).
#pragma once

#include <math.h>

#include <curand.h>
#include <klab_cuda/random.h>

/// What all states have: the second number of a pair that a normal distribution has in reserve.
struct klab_curand_reserve {
  bool has_normal, has_normal_double;
  float normal;
  double normal_double;
};

struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned STATE;
  klab_curand_reserve reserve;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
struct curandStateMRG32k3a {
  unsigned s1[3], s2[3];
  klab_curand_reserve reserve;
};
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;
struct curandStateXORWOW {
  unsigned d, v[5];
  klab_curand_reserve reserve;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;

// Philox4x32-10
KLAB_SIMT_INLINE void klab_curand_next_block(curandStatePhilox4_32_10_t* state) {
  if (++state->ctr.x == 0 && ++state->ctr.y == 0 && ++state->ctr.z == 0) ++state->ctr.w;
  state->output = klab::program::random::philox(state->ctr, state->key);
}
KLAB_SIMT_INLINE void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  const unsigned low = (unsigned)n;
  state->ctr.z += low;
  state->ctr.w += (unsigned)(n >> 32) + (state->ctr.z < low ? 1 : 0);
  state->output = klab::program::random::philox(state->ctr, state->key);
}
KLAB_SIMT_INLINE void skipahead(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  state->STATE += (unsigned)(n & 3);
  n /= 4;
  if (state->STATE > 3) {
    ++n;
    state->STATE -= 4;
  }
  const unsigned low = (unsigned)n, high = (unsigned)(n >> 32);
  state->ctr.x += low;
  const unsigned carry = state->ctr.x < low ? 1 : 0;
  const unsigned long long y = (unsigned long long)state->ctr.y + high + carry;
  state->ctr.y = (unsigned)y;
  if ((y >> 32) != 0 && ++state->ctr.z == 0) ++state->ctr.w;
  state->output = klab::program::random::philox(state->ctr, state->key);
}
KLAB_SIMT_INLINE void curand_init(unsigned long long seed, unsigned long long sequence,
                                  unsigned long long offset, curandStatePhilox4_32_10_t* state) {
  *state = curandStatePhilox4_32_10_t{};
  state->key.x = (unsigned)seed;
  state->key.y = (unsigned)(seed >> 32);
  skipahead_sequence(sequence, state);
  skipahead(offset, state);
}
KLAB_SIMT_INLINE unsigned curand(curandStatePhilox4_32_10_t* state) {
  const unsigned x = state->STATE == 0   ? state->output.x
                     : state->STATE == 1 ? state->output.y
                     : state->STATE == 2 ? state->output.z
                                         : state->output.w;
  if (++state->STATE == 4) {
    state->STATE = 0;
    klab_curand_next_block(state);
  }
  return x;
}
KLAB_SIMT_INLINE uint4 curand4(curandStatePhilox4_32_10_t* state) {
  uint4 r;
  r.x = curand(state);
  r.y = curand(state);
  r.z = curand(state);
  r.w = curand(state);
  return r;
}

// MRG32k3a
KLAB_SIMT_INLINE double klab_curand_mrg(curandStateMRG32k3a_t* state) {
  using namespace klab::program::random;
  const unsigned p1 =
      (unsigned)((1403580ULL * state->s1[1] + (kMrg1 - 810728ULL) * state->s1[0] % kMrg1) % kMrg1);
  state->s1[0] = state->s1[1];
  state->s1[1] = state->s1[2];
  state->s1[2] = p1;
  const unsigned p2 =
      (unsigned)((527612ULL * state->s2[2] + (kMrg2 - 1370589ULL) * state->s2[0] % kMrg2) % kMrg2);
  state->s2[0] = state->s2[1];
  state->s2[1] = state->s2[2];
  state->s2[2] = p2;
  return p1 <= p2 ? (double)p1 - (double)p2 + (double)kMrg1 : (double)p1 - (double)p2;
}
KLAB_SIMT_INLINE void skipahead(unsigned long long n, curandStateMRG32k3a_t* state) {
  using namespace klab::program::random;
  jump(state->s1, step1(), n, 0, kMrg1);
  jump(state->s2, step2(), n, 0, kMrg2);
}
KLAB_SIMT_INLINE void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t* state) {
  using namespace klab::program::random;
  jump(state->s1, step1(), n, 76, kMrg1);
  jump(state->s2, step2(), n, 76, kMrg2);
}
KLAB_SIMT_INLINE void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t* state) {
  using namespace klab::program::random;
  jump(state->s1, step1(), n, 127, kMrg1);
  jump(state->s2, step2(), n, 127, kMrg2);
}
KLAB_SIMT_INLINE void curand_init(unsigned long long seed, unsigned long long sequence,
                                  unsigned long long offset, curandStateMRG32k3a_t* state) {
  using namespace klab::program::random;
  *state = curandStateMRG32k3a_t{};
  for (int k = 0; k < 3; ++k) state->s1[k] = state->s2[k] = 12345;
  if (seed != 0) {
    const unsigned long long a = (unsigned)seed ^ 0x55555555u, b = (unsigned)(seed >> 32) ^ 0xAAAAAAAAu;
    for (int k = 0; k < 3; ++k) {
      state->s1[k] = (unsigned)((k == 1 ? b : a) * state->s1[k] % kMrg1);
      state->s2[k] = (unsigned)((k == 1 ? a : b) * state->s2[k] % kMrg2);
    }
  }
  skipahead_subsequence(sequence, state);
  skipahead(offset, state);
}
KLAB_SIMT_INLINE unsigned curand(curandStateMRG32k3a_t* state) {
  return (unsigned)(klab_curand_mrg(state) * 1.000000048661607);
}

// XORWOW
KLAB_SIMT_INLINE unsigned curand(curandStateXORWOW_t* state) {
  const unsigned t = state->v[0] ^ (state->v[0] >> 2);
  state->v[0] = state->v[1];
  state->v[1] = state->v[2];
  state->v[2] = state->v[3];
  state->v[3] = state->v[4];
  state->v[4] = (state->v[4] ^ (state->v[4] << 4)) ^ (t ^ (t << 1));
  state->d += 362437;
  return state->v[4] + state->d;
}
KLAB_SIMT_INLINE void skipahead(unsigned long long n, curandStateXORWOW_t* state) {
  for (; n > 0; --n) curand(state);
}
KLAB_SIMT_INLINE void curand_init(unsigned long long seed, unsigned long long sequence,
                                  unsigned long long offset, curandStateXORWOW_t* state) {
  using klab::program::random::mix;
  *state = curandStateXORWOW_t{};
  unsigned long long x = mix(mix(seed) ^ sequence);
  for (int k = 0; k < 5; ++k) {
    x = mix(x);
    state->v[k] = (unsigned)x | (k == 0 ? 1u : 0u);
  }
  state->d = 6615241u + (unsigned)(x >> 32);
  skipahead(offset, state);
}

// Distributions. Uniform numbers are greater than 0 and at most 1.
KLAB_SIMT_INLINE float klab_curand_to_uniform(unsigned x) { return x * 2.3283064e-10f + 1.1641532e-10f; }
KLAB_SIMT_INLINE double klab_curand_to_uniform(unsigned x, unsigned y) {
  const unsigned long long z = (unsigned long long)x ^ ((unsigned long long)y << (53 - 32));
  return z * 1.1102230246251565e-16 + 5.551115123125783e-17;
}
KLAB_SIMT_INLINE float curand_uniform(curandStateMRG32k3a_t* state) {
  return (float)(klab_curand_mrg(state) * 2.328306549295727688e-10);
}
KLAB_SIMT_INLINE double curand_uniform_double(curandStateMRG32k3a_t* state) {
  return klab_curand_mrg(state) * 2.328306549295727688e-10;
}
template <class State>
KLAB_SIMT_INLINE float curand_uniform(State* state) {
  return klab_curand_to_uniform(curand(state));
}
template <class State>
KLAB_SIMT_INLINE double curand_uniform_double(State* state) {
  const unsigned x = curand(state), y = curand(state);
  return klab_curand_to_uniform(x, y);
}
template <class State>
KLAB_SIMT_INLINE float2 curand_normal2(State* state) {
  const float u = curand_uniform(state), v = curand_uniform(state) * 6.2831855f;
  const float s = sqrtf(-2.0f * logf(u));
  float2 r;
  r.x = sinf(v) * s;
  r.y = cosf(v) * s;
  return r;
}
template <class State>
KLAB_SIMT_INLINE double2 curand_normal2_double(State* state) {
  const double u = curand_uniform_double(state), v = curand_uniform_double(state) * 6.283185307179586;
  const double s = sqrt(-2.0 * log(u));
  double2 r;
  r.x = sin(v) * s;
  r.y = cos(v) * s;
  return r;
}
template <class State>
KLAB_SIMT_INLINE float curand_normal(State* state) {
  if (state->reserve.has_normal) {
    state->reserve.has_normal = false;
    return state->reserve.normal;
  }
  const float2 pair = curand_normal2(state);
  state->reserve.has_normal = true;
  state->reserve.normal = pair.y;
  return pair.x;
}
template <class State>
KLAB_SIMT_INLINE double curand_normal_double(State* state) {
  if (state->reserve.has_normal_double) {
    state->reserve.has_normal_double = false;
    return state->reserve.normal_double;
  }
  const double2 pair = curand_normal2_double(state);
  state->reserve.has_normal_double = true;
  state->reserve.normal_double = pair.y;
  return pair.x;
}
template <class State>
KLAB_SIMT_INLINE float curand_log_normal(State* state, float mean, float deviation) {
  return expf(mean + deviation * curand_normal(state));
}
template <class State>
KLAB_SIMT_INLINE double curand_log_normal_double(State* state, double mean, double deviation) {
  return exp(mean + deviation * curand_normal_double(state));
}
template <class State>
KLAB_SIMT_INLINE float2 curand_log_normal2(State* state, float mean, float deviation) {
  float2 r = curand_normal2(state);
  r.x = expf(mean + deviation * r.x);
  r.y = expf(mean + deviation * r.y);
  return r;
}
/// By multiplication (Knuth), in parts of at most 500 so that nothing underflows.
template <class State>
KLAB_SIMT_INLINE unsigned curand_poisson(State* state, double lambda) {
  unsigned count = 0;
  while (lambda > 0) {
    const double part = lambda < 500 ? lambda : 500;
    lambda -= part;
    const double limit = exp(-part);
    for (double product = curand_uniform_double(state); product > limit;
         product *= curand_uniform_double(state))
      ++count;
  }
  return count;
}
KLAB_SIMT_INLINE float4 curand_uniform4(curandStatePhilox4_32_10_t* state) {
  const uint4 x = curand4(state);
  float4 r;
  r.x = klab_curand_to_uniform(x.x);
  r.y = klab_curand_to_uniform(x.y);
  r.z = klab_curand_to_uniform(x.z);
  r.w = klab_curand_to_uniform(x.w);
  return r;
}
KLAB_SIMT_INLINE double2 curand_uniform2_double(curandStatePhilox4_32_10_t* state) {
  const uint4 x = curand4(state);
  double2 r;
  r.x = klab_curand_to_uniform(x.x, x.y);
  r.y = klab_curand_to_uniform(x.z, x.w);
  return r;
}
KLAB_SIMT_INLINE float4 curand_normal4(curandStatePhilox4_32_10_t* state) {
  const float2 a = curand_normal2(state), b = curand_normal2(state);
  float4 r;
  r.x = a.x;
  r.y = a.y;
  r.z = b.x;
  r.w = b.y;
  return r;
}
KLAB_SIMT_INLINE float4 curand_log_normal4(curandStatePhilox4_32_10_t* state, float mean, float deviation) {
  const float2 a = curand_log_normal2(state, mean, deviation), b = curand_log_normal2(state, mean, deviation);
  float4 r;
  r.x = a.x;
  r.y = a.y;
  r.z = b.x;
  r.w = b.y;
  return r;
}
