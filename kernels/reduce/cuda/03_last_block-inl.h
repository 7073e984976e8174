// The part of reduce.cuda.03_last_block that 04_sixteen_bytes takes over as it is.

/// Returns the sum over the block to its first warp. All threads call it; a barrier lies between two calls.
__device__ __forceinline__ float sum_of_block(float value) {
  __shared__ float sums[kWarps];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0U, value, by);
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  if (warp > 0) return 0;
  value = lane < kWarps ? sums[lane] : 0;
  for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0U, value, by);
  return value;
}
