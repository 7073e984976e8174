// CUB's algorithms of a whole device, from a toolkit's headers, over many blocks: sums, extremes, histograms;
// and the barriers of libcu++ that need its clocks.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cuda/barrier>
#include <cuda/std/chrono>

#include <algorithm>
#include <numeric>
#include <utility>

#include "check.h"

/// Runs an algorithm that first says how much memory it needs.
template <class F>
void run(F algorithm) {
  size_t bytes = 0;
  void* storage = nullptr;
  CHECK(algorithm(storage, bytes));
  CHECK(cudaMalloc(&storage, bytes));
  CHECK(algorithm(storage, bytes));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(storage));
}

__global__ void attempts(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> all;
  if (threadIdx.x == 0) init(&all, blockDim.x);
  __syncthreads();
  for (int k = 0; k < 4; ++k)
    if (k % 2 == 0) {
      (void)all.arrive();
      while (!all.try_wait_parity_for(false, cuda::std::chrono::nanoseconds(100))) {
      }
    } else {
      auto token = all.arrive();
      while (!all.try_wait_for(std::move(token), cuda::std::chrono::nanoseconds(100))) {
      }
    }
  out[threadIdx.x] = 1;
}

int main() {
  const int n = 50000;
  int *x, *result, *bins;
  CHECK(cudaMallocManaged(&x, n * sizeof(int)));
  CHECK(cudaMallocManaged(&result, 2 * sizeof(int)));
  CHECK(cudaMallocManaged(&bins, 16 * sizeof(int)));
  int wanted[16] = {};
  for (int k = 0; k < n; ++k) {
    x[k] = int(unsigned(k) * 2654435761u >> 16) % 4096;
    ++wanted[x[k] / 256];
  }
  run([&](void* storage, size_t& bytes) { return cub::DeviceReduce::Sum(storage, bytes, x, result, n); });
  run([&](void* storage, size_t& bytes) { return cub::DeviceReduce::Max(storage, bytes, x, result + 1, n); });
  run([&](void* storage, size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(storage, bytes, x, bins, 17, 0, 4096, n);
  });
  require_near(result[0], std::accumulate(x, x + n, 0), 0, "a sum");
  require_near(result[1], *std::max_element(x, x + n), 0, "the largest");
  for (int k = 0; k < 16; ++k) require_near(bins[k], wanted[k], 0, "a bin");
  int* done;
  CHECK(cudaMallocManaged(&done, 64 * sizeof(int)));
  attempts<<<1, 64>>>(done);
  CHECK(cudaDeviceSynchronize());
  require_near(std::accumulate(done, done + 64, 0), 64, 0, "threads that have waited");
  cudaFree(x), cudaFree(result), cudaFree(bins), cudaFree(done);
  std::printf("cub_device passed\n");
}
