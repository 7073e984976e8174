// The part of batchnorm_bwd.cuda.02_block_per_channel that 03_columns and groupnorm_bwd.cuda.02_block_per_group take over as it is.

/// Two sums of all threads, in all of them. `part` is shared.
__device__ __forceinline__ void sum_both(float& a, float& b, float (&part)[2][kWarps]) {
  for (int by = 16; by > 0; by /= 2) {
    a += __shfl_xor_sync(~0U, a, by);
    b += __shfl_xor_sync(~0U, b, by);
  }
  const int warp = int(threadIdx.x) / 32;
  if (threadIdx.x % 32 == 0) part[0][warp] = a, part[1][warp] = b;
  __syncthreads();
  a = b = 0;
  for (int w = 0; w < kWarps; ++w) a += part[0][w], b += part[1][w];
}
