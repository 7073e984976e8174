// The part of softmax_xent_fwd.cuda.03_warp_shuffle that 04_warp_per_row and softmax_xent_bwd.cuda.01_warp_per_row take over as it is.

/// Over all lanes, in all lanes.
__device__ __forceinline__ float max_of(float v) {
  for (int by = 16; by > 0; by /= 2) v = fmaxf(v, __shfl_xor_sync(kAll, v, by));
  return v;
}
__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(kAll, v, by);
  return v;
}
