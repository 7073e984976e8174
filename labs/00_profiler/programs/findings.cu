// Lab 00, program 5: errors that no counter shows. Without an argument the sum of a block is right and
// complete. With an argument it contains one error, and the program still prints "passed", here and on many
// GPUs.
//
//   klab trace labs/00_profiler/programs/findings.cu
//   klab trace labs/00_profiler/programs/findings.cu -- race        or: bounds, unwritten, leak
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

constexpr int kThreads = 128;

// The last step reads values that other warps wrote: `race` omits the barrier before it.
__global__ void block_sum(int* out, const int* in, int n, bool barrier) {
  __shared__ int s[kThreads / 32];
  int x = 0;
  for (int k = threadIdx.x; k < n; k += kThreads) x += in[k];
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(~0u, x, d);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = x;
  if (barrier) __syncthreads();
  if (threadIdx.x == kThreads - 1) *out = s[0] + s[1] + s[2] + s[3];
}

int main(int argc, char** argv) {
  const auto is = [&](const char* what) { return argc > 1 && std::strcmp(argv[1], what) == 0; };
  constexpr int n = 1000;
  int host[n], *in = nullptr, *out = nullptr, got = 0;
  for (int k = 0; k < n; ++k) host[k] = k;
  if (cudaMalloc(&in, sizeof host) != cudaSuccess || cudaMalloc(&out, sizeof got) != cudaSuccess) return 2;
  // `unwritten` clears memory too late; `bounds` reads one element past the end.
  if (is("unwritten"))
    cudaMemset(out, 0, sizeof got);
  else
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  block_sum<<<1, kThreads>>>(out, in, is("bounds") ? n + 1 : n, !is("race"));
  cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost);
  if (!is("leak")) cudaFree(in);
  cudaFree(out);
  std::printf("findings passed\n");
  return argc > 1 || got == n * (n - 1) / 2 ? 0 : 1;
}
