// Lab 00, program 4: a histogram of four bins, in three versions. Atomic operations of one warp on one
// address are serialized; each that waits is a collision. A test compares the comments with the counts.
//
//   klab trace labs/00_profiler/programs/atomics.cu
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kThreads = 128, kBlocks = 16, kBins = 4;

__global__ void to_memory(int* bins, const int* of) {
  const int bin = of[blockIdx.x * kThreads + threadIdx.x];
  atomicAdd(&bins[bin], 1 + bin);  // reduction 4 B: 28 collisions/request
}
// A block adds to its own bins first, so memory receives one addition per bin and block.
__global__ void to_shared(int* bins, const int* of) {
  __shared__ int own[kBins];
  if (threadIdx.x < kBins) own[threadIdx.x] = 0;
  __syncthreads();
  const int bin = of[blockIdx.x * kThreads + threadIdx.x];
  atomicAdd(&own[bin], 1 + bin);  // shared atomic 4 B: 28 collisions/request
  __syncthreads();
  if (threadIdx.x >= kBins) return;
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);  // reduction 4 B: 0 collisions/request
}
// A warp counts its bins with a vote, so no two lanes add to one address.
__global__ void by_vote(int* bins, const int* of) {
  const int bin = of[blockIdx.x * kThreads + threadIdx.x], lane = threadIdx.x % 32;
  int mine = 0;
  for (int b = 0; b < kBins; ++b) {
    const unsigned who = __ballot_sync(~0u, bin == b);
    if (lane == b) mine = __popc(who) * (1 + b);
  }
  if (lane < kBins) atomicAdd(&bins[lane], mine);  // reduction 4 B: 0 collisions/request
}

int main() {
  constexpr int count = kThreads * kBlocks;
  int host[count];
  for (int k = 0; k < count; ++k) host[k] = k % kBins;
  int *of = nullptr, *bins = nullptr, got[kBins];
  if (cudaMalloc(&of, sizeof host) != cudaSuccess || cudaMalloc(&bins, sizeof got) != cudaSuccess) return 2;
  cudaMemcpy(of, host, sizeof host, cudaMemcpyHostToDevice);
  bool good = true;
  for (const auto kernel : {to_memory, to_shared, by_vote}) {
    cudaMemset(bins, 0, sizeof got);
    kernel<<<kBlocks, kThreads>>>(bins, of);
    cudaMemcpy(got, bins, sizeof got, cudaMemcpyDeviceToHost);
    for (int b = 0; b < kBins; ++b) good = good && got[b] == count / kBins * (1 + b);
  }
  cudaFree(of);
  cudaFree(bins);
  std::printf("atomics %s\n", good ? "passed" : "failed");
  return good ? 0 : 1;
}
