// right
// Addresses of shared memory as the numbers that PTX has: the first variable lies at 0, and so does dynamic memory alone.
#include <cstdint>
#include <cstdio>

__global__ void fixed(int* y) {
  __shared__ int tile[64];
  tile[threadIdx.x] = 0;
  __syncthreads();
  const unsigned mine = threadIdx.x * 4, other = (63 - threadIdx.x) * 4;
  int v;
  asm volatile("st.shared.s32 [%0], %1;" ::"r"(mine), "r"(int(threadIdx.x)) : "memory");
  __syncthreads();
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(v) : "r"(other) : "memory");
  __syncthreads();
  asm volatile("red.shared.add.s32 [%0], %1;" ::"r"(0), "r"(1) : "memory");
  __syncthreads();
  y[threadIdx.x] = v + tile[0] + int(__cvta_generic_to_shared(tile));
}
__global__ void dynamic(const float* x, float* y) {
  extern __shared__ float4 rows[];
  unsigned at;
  asm volatile("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(at) : "l"(rows));
  at += threadIdx.x * 16;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(at), "l"(x + threadIdx.x * 4));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  float a, b, c, d;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
               : "r"((31 - threadIdx.x) * 16));
  int old;
  __syncthreads();
  asm volatile("atom.shared.exch.b32 %0, [%1+4], %2;" : "=r"(old) : "r"(threadIdx.x * 16), "r"(0) : "memory");
  y[threadIdx.x] = a + b + c + d + 0 * old;
}
__global__ void matrix(unsigned* y) {
  __shared__ uint16_t m[64];
  m[threadIdx.x] = threadIdx.x, m[threadIdx.x + 32] = threadIdx.x + 32;
  __syncwarp();
  unsigned r;
  const unsigned at = unsigned(__cvta_generic_to_shared(m)) + (threadIdx.x % 8) * 16;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(at));
  y[threadIdx.x] = r;
}
/// The lower half of a pointer is the address as well.
__global__ void two_variables(int* y) {
  __shared__ int a[32];
  __shared__ int b[32];
  const auto at = static_cast<unsigned>(reinterpret_cast<size_t>(&b[threadIdx.x]));
  a[threadIdx.x] = 1;
  asm volatile("st.shared.s32 [%0], %1;" ::"r"(at), "r"(int(threadIdx.x)) : "memory");
  y[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
int main() {
  int *y, host[64], failures = 0;
  float *x, numbers[128], sums[32];
  cudaMalloc(&y, sizeof host), cudaMalloc(&x, sizeof numbers);
  fixed<<<1, 64>>>(y);
  cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
  for (int k = 0; k < 64; ++k) failures += host[k] != 63 - k + 64;
  for (int k = 0; k < 128; ++k) numbers[k] = float(k);
  cudaMemcpy(x, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  dynamic<<<1, 32, 512>>>(x, reinterpret_cast<float*>(y));
  cudaMemcpy(sums, y, sizeof sums, cudaMemcpyDeviceToHost);
  for (int k = 0; k < 32; ++k) failures += sums[k] != float(16 * (31 - k) + 6);
  matrix<<<1, 32>>>(reinterpret_cast<unsigned*>(y));
  cudaMemcpy(host, y, 128, cudaMemcpyDeviceToHost);
  for (int k = 0; k < 32; ++k) failures += unsigned(host[k]) != unsigned(2 * k + (2 * k + 1) * 65536);
  two_variables<<<1, 32>>>(y);
  cudaMemcpy(host, y, 128, cudaMemcpyDeviceToHost);
  for (int k = 0; k < 32; ++k) failures += host[k] != 1 + k;
  cudaFree(y), cudaFree(x);
  std::printf("%d failures\n", failures);
  return failures != 0;
}
