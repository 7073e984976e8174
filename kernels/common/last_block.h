// Finds the block of a grid that ends last, so that it can add up what the others have written.
//
//   parts[blockIdx.x] = ...;                            any threads of the block
//   if (!cuda::is_last_block(arrivals, gridDim.x)) return;     all threads; *arrivals is zero before the launch
//   ... read parts ...                                  all threads of the last block
//
// Memory order (the pattern of NVIDIA's sample threadFenceReduction): each thread's fence comes after its writes and
// before the block's arrival, and the last block's fence comes after it has seen all arrivals and before it reads.
// The atomic in between makes the one happen before the other. No block waits, so blocks may run in any order.
//
// The executor reports a missing fence or barrier as a race between blocks.
#pragma once

#include "kernels/common/cuda.h"

namespace klab::cuda {
namespace {  // shared memory must be each file's own

/// Returns whether all other blocks have arrived. All threads of the block call it, once.
__device__ __forceinline__ bool is_last_block(unsigned* arrivals, unsigned blocks) {
  __shared__ unsigned earlier;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    earlier = atomicAdd(arrivals, 1U);
    __threadfence();
  }
  __syncthreads();
  return earlier == blocks - 1;
}

}  // namespace
}  // namespace klab::cuda
