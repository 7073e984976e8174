// Accesses that a compiler changes: neighbors in one instruction, values that stay in registers, loads taken
// out of loops; and accesses that it must not change. Lines are told by their comments.
#include "check.h"

constexpr int kOwn = 8, kThreads = 64, kRounds = 5;

__global__ void kernel(float* __restrict__ out, const float* __restrict__ in,
                       const float* __restrict__ factor, int n) {
  __shared__ __align__(16) float tile[kThreads * kOwn];
  const int t = threadIdx.x;
  for (int k = 0; k < kOwn; ++k) tile[k * kThreads + t] = in[k * kThreads + t];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kOwn; ++k) sum += tile[t * kOwn + k];  // merged: 8 loads of 4 bytes are 2 of 16
#pragma unroll 1
  for (int r = 0; r < n; ++r)
    sum =
        sum * factor[0] + 1;  // hoisted: once for all rounds, which the compiler for the host may do as well
  out[t] = sum;
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
    sum += in[int(sum) & 1];  // kept: whose address the compiler does not know
    out[kThreads + t] = sum;  // a store that is not read in between
  }
}

int main() {
  float *in, *out, *factor;
  CHECK(cudaMalloc(&in, kThreads * kOwn * 4));
  CHECK(cudaMalloc(&out, 2 * kThreads * 4));
  CHECK(cudaMalloc(&factor, 4));
  CHECK(cudaMemset(in, 0, kThreads * kOwn * 4));
  CHECK(cudaMemset(factor, 0, 4));
  kernel<<<1, kThreads>>>(out, in, factor, kRounds);
  float first = 0;
  CHECK(cudaMemcpy(&first, out, 4, cudaMemcpyDeviceToHost));
  require_near(first, 1, 0, "a sum");
  cudaFree(in), cudaFree(out), cudaFree(factor);
  std::printf("compiled passed\n");
}
