// Lab 00, program 3: threads of one warp that take different paths. A warp issues a request for its active
// lanes only; the others wait. A test compares the comments with the counts.
//
//   klab trace labs/00_profiler/programs/divergence.cu
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kThreads = 64;

// Thread i of each warp adds i + 1 numbers: 528 loads for 32 requests.
__global__ void triangle(int* out, const int* in) {
  const int lane = threadIdx.x % 32;
  int sum = 0;
  for (int k = 0; k <= lane; ++k) sum += in[k * kThreads + threadIdx.x];  // load 4 B: 16.5 lanes/request
  out[threadIdx.x] = sum;                                                 // store 4 B: 32 lanes/request
}
// The same work by pairs of threads: the thread with the shortest row works with the one with the longest, 17
// or 16 numbers each. Few lanes wait, but neighbors no longer read neighbors: more sectors.
__global__ void evened(int* out, const int* in) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, short_one = lane / 2, long_one = 31 - short_one;
  const int other = lane % 2 == 0 ? short_one : long_one;
  int sum = 0;
  for (int k = lane % 2; k <= short_one + long_one + 1; k += 2) {
    const bool first = k <= short_one;
    const int row = first ? k : k - short_one - 1, column = first ? short_one : long_one;
    const int x = in[row * kThreads + 32 * warp + column];  // load 4 B: 31.06 lanes/request
    sum += first ? x : x << 12;
  }
  const int both = sum + __shfl_xor_sync(~0u, sum, 1);
  out[32 * warp + other] = lane % 2 == 0 ? both & 4095 : both >> 12;  // store 4 B: 32 lanes/request
}
// Half of a warp takes one path and half the other: two requests where one would do.
__global__ void branches(int* out, const int* in) {
  const int i = threadIdx.x;
  int x = 0;
  if (i % 2 == 0)
    x = 2 * in[i];  // load 4 B: 16 lanes/request
  else
    x = 3 * in[i];  // load 4 B: 16 lanes/request
  out[i] = x;       // store 4 B: 32 lanes/request
}

int main() {
  int host[32 * kThreads];
  for (int k = 0; k < 32 * kThreads; ++k) host[k] = k % 7;
  int *in = nullptr, *out = nullptr, got[kThreads];
  if (cudaMalloc(&in, sizeof host) != cudaSuccess || cudaMalloc(&out, sizeof got) != cudaSuccess) return 2;
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  bool good = true;
  for (const auto kernel : {triangle, evened}) {
    kernel<<<1, kThreads>>>(out, in);
    cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < kThreads; ++i) {
      int wanted = 0;
      for (int k = 0; k <= i % 32; ++k) wanted += host[k * kThreads + i];
      good = good && got[i] == wanted;
    }
  }
  branches<<<1, kThreads>>>(out, in);
  cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  for (int i = 0; i < kThreads; ++i) good = good && got[i] == (2 + i % 2) * host[i];
  cudaFree(in);
  cudaFree(out);
  std::printf("divergence %s\n", good ? "passed" : "failed");
  return good ? 0 : 1;
}
