// The part of softmax_xent_fwd.cuda.05_online that 06_vectorized takes over as it is.

/// Statistics of a part of a row. An empty part begins at the lowest finite float: minus infinity less itself
/// would be NaN.
struct Part {
  float largest = -3.402823466e38F;
  float sum = 0;  // of exp(x - largest)
};

__device__ __forceinline__ Part with(Part a, float x) {
  const float e = __expf(-fabsf(x - a.largest));
  return x > a.largest ? Part{x, a.sum * e + 1} : Part{a.largest, a.sum + e};
}

__device__ __forceinline__ Part join(Part a, Part b) {
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}
/// Over all lanes, in all lanes.
__device__ __forceinline__ Part join_lanes(Part own) {
  for (int by = 16; by > 0; by /= 2)
    own = join(own, {__shfl_xor_sync(kAll, own.largest, by), __shfl_xor_sync(kAll, own.sum, by)});
  return own;
}
