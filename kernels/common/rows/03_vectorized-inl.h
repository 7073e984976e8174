// The part of layernorm_fwd.cuda.03_vectorized that 04_kept and the vectorized rungs of two other norms take over as it is.

/// kEach neighbors, moved at once.
template <int kEach>
struct alignas(4 * kEach) Pack {
  float v[kEach];
};
template <int kEach>
__device__ __forceinline__ Pack<kEach> load(const float* p) {
  if constexpr (kEach == 4) {
    const float4 four = *reinterpret_cast<const float4*>(p);
    return {{four.x, four.y, four.z, four.w}};
  } else {
    return {{*p}};
  }
}
template <int kEach>
__device__ __forceinline__ void store(float* p, const Pack<kEach>& a) {
  if constexpr (kEach == 4)
    *reinterpret_cast<float4*>(p) = make_float4(a.v[0], a.v[1], a.v[2], a.v[3]);
  else
    *p = a.v[0];
}

/// Over all lanes, in all lanes.
__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  return v;
}
