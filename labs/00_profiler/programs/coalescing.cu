// Lab 00, program 1: the same copy with six orders of access. The comment next to each access states the cost
// of a warp's request; a test compares these comments with the counts.
//
//   klab trace labs/00_profiler/programs/coalescing.cu
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kThreads = 256, kBlocks = 8, kCount = kThreads * kBlocks;

__global__ void in_order(float* out, const float* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = in[i];  // load 4 B: 4 sectors/request
  out[i] = x;             // store 4 B: 4 sectors/request
}
__global__ void shifted(float* out, const float* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = in[i + 1];  // load 4 B: 5 sectors/request
  out[i] = x;                 // store 4 B: 4 sectors/request
}
__global__ void every_other(float* out, const float* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = in[2 * i];  // load 4 B: 8 sectors/request
  out[i] = x;                 // store 4 B: 4 sectors/request
}
__global__ void by_columns(float* out, const float* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = in[i % kBlocks * kThreads + i / kBlocks];  // load 4 B: 8 sectors/request
  out[i * 8] = x;                                            // store 4 B: 32 sectors/request
}
__global__ void one_for_all(float* out, const float* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = in[blockIdx.x];  // load 4 B: 1 sectors/request
  out[i] = x;                      // store 4 B: 4 sectors/request
}
__global__ void four_at_once(float4* out, const float4* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 x = in[i];  // load 16 B: 16 sectors/request
  out[i] = x;              // store 16 B: 16 sectors/request
}

int main() {
  const size_t floats = 8 * size_t(kCount) + 1;
  std::vector<float> host(floats);
  for (size_t i = 0; i < floats; ++i) host[i] = float(i);
  float *in = nullptr, *out = nullptr;
  if (cudaMalloc(&in, floats * sizeof(float)) != cudaSuccess ||
      cudaMalloc(&out, floats * sizeof(float)) != cudaSuccess)
    return 2;
  cudaMemcpy(in, host.data(), floats * sizeof(float), cudaMemcpyHostToDevice);
  bool good = true;
  const auto holds = [&](const char* name, int element, float wanted) {
    float got = -1;
    cudaMemcpy(&got, out + element, sizeof(float), cudaMemcpyDeviceToHost);
    if (got != wanted)
      std::printf("%s: element %d is %g, not %g\n", name, element, got, wanted), good = false;
  };
  in_order<<<kBlocks, kThreads>>>(out, in);
  holds("in_order", 300, 300);
  shifted<<<kBlocks, kThreads>>>(out, in);
  holds("shifted", 300, 301);
  every_other<<<kBlocks, kThreads>>>(out, in);
  holds("every_other", 300, 600);
  by_columns<<<kBlocks, kThreads>>>(out, in);
  holds("by_columns", 8 * 300, 300 % kBlocks * kThreads + 300 / kBlocks);
  one_for_all<<<kBlocks, kThreads>>>(out, in);
  holds("one_for_all", 300, 1);
  four_at_once<<<kBlocks, kThreads>>>(reinterpret_cast<float4*>(out), reinterpret_cast<const float4*>(in));
  holds("four_at_once", 300, 300);
  cudaFree(in);
  cudaFree(out);
  std::printf("coalescing %s\n", good ? "passed" : "failed");
  return good ? 0 : 1;
}
