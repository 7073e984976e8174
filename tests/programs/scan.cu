// Prefix sums: within blocks by trees in dynamic shared memory of file scope, of the blocks' sums, and added; and by shuffles.
#include <vector>

#include "check.h"

extern __shared__ unsigned work[];

__global__ void scan_blocks(const unsigned* in, unsigned* out, unsigned* sums) {
  const unsigned t = threadIdx.x, n = 2 * blockDim.x, base = blockIdx.x * n;
  work[2 * t] = in[base + 2 * t];
  work[2 * t + 1] = in[base + 2 * t + 1];
  unsigned offset = 1;
  for (unsigned d = n >> 1; d > 0; d >>= 1, offset *= 2) {
    __syncthreads();
    if (t < d) work[offset * (2 * t + 2) - 1] += work[offset * (2 * t + 1) - 1];
  }
  if (t == 0) {
    if (sums != nullptr) sums[blockIdx.x] = work[n - 1];
    work[n - 1] = 0;
  }
  for (unsigned d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      const unsigned low = offset * (2 * t + 1) - 1, high = offset * (2 * t + 2) - 1, before = work[low];
      work[low] = work[high];
      work[high] += before;
    }
  }
  __syncthreads();
  out[base + 2 * t] = work[2 * t];
  out[base + 2 * t + 1] = work[2 * t + 1];
}
__global__ void add_sums(unsigned* out, const unsigned* sums) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = sums[blockIdx.x];
  __syncthreads();
  out[blockIdx.x * 2 * blockDim.x + threadIdx.x] += sum;
  out[blockIdx.x * 2 * blockDim.x + blockDim.x + threadIdx.x] += sum;
}
__global__ void scan_warp(const unsigned* in, unsigned* out) {
  unsigned v = in[threadIdx.x];
  for (int by = 1; by < 32; by *= 2) {
    const unsigned other = __shfl_up_sync(~0u, v, by);
    if (threadIdx.x % 32 >= unsigned(by)) v += other;
  }
  out[threadIdx.x] = v;
}

int main() {
  const unsigned blocks = 16, threads = 64, n = blocks * threads * 2;
  std::vector<unsigned> in(n), out(n);
  for (unsigned k = 0; k < n; ++k) in[k] = k * 7 % 11;
  unsigned *din, *dout, *sums, *scanned;
  for (unsigned** p : {&din, &dout}) CHECK(cudaMalloc(p, n * 4));
  for (unsigned** p : {&sums, &scanned}) CHECK(cudaMalloc(p, blocks * 4));
  CHECK(cudaMemcpy(din, in.data(), n * 4, cudaMemcpyHostToDevice));
  scan_blocks<<<blocks, threads, 2 * threads * sizeof(unsigned)>>>(din, dout, sums);
  scan_blocks<<<1, blocks / 2, blocks * sizeof(unsigned)>>>(sums, scanned, nullptr);
  add_sums<<<blocks, threads>>>(dout, scanned);
  CHECK(cudaMemcpy(out.data(), dout, n * 4, cudaMemcpyDeviceToHost));
  unsigned sum = 0;
  for (unsigned k = 0; k < n; ++k) {
    require_near(out[k], sum, 0, "a prefix sum");
    sum += in[k];
  }
  scan_warp<<<1, 32>>>(din, dout);
  CHECK(cudaMemcpy(out.data(), dout, 32 * 4, cudaMemcpyDeviceToHost));
  sum = 0;
  for (unsigned k = 0; k < 32; ++k) require_near(out[k], sum += in[k], 0, "a prefix sum of a warp");
  for (unsigned* p : {din, dout, sums, scanned}) cudaFree(p);
  std::printf("scan passed\n");
}
