// right
// A plain read only guesses; an atomic of the same word decides: a minimum of floats by swaps, a maximum, a set of bits.
#include <cfloat>
__device__ void least(float* at, float x) {
  int seen = *reinterpret_cast<int*>(at);
  while (x < __int_as_float(seen)) {
    const int before = atomicCAS(reinterpret_cast<int*>(at), seen, __float_as_int(x));
    if (before == seen) break;
    seen = before;
  }
}
__global__ void k(const float* x, int n, float* low, int* high, unsigned* bits) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  least(low, x[i]);
  if (int(x[i]) > *high) atomicMax(high, int(x[i]));
  const unsigned bit = 1u << (i % 32);
  if ((*bits & bit) == 0) atomicOr(bits, bit);
}
int main() {
  const int n = 1000;
  float h[n], *x, *low, least_of_all = FLT_MAX;
  int* high;
  unsigned* bits;
  for (int k = 0; k < n; ++k) h[k] = float((k * 7919) % 1009) - 100.5f;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&low, 4);
  cudaMalloc(&high, 4);
  cudaMalloc(&bits, 4);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(low, &least_of_all, 4, cudaMemcpyHostToDevice);
  cudaMemset(high, 0, 4);
  cudaMemset(bits, 0, 4);
  k<<<8, 128>>>(x, n, low, high, bits);
  int most = 0;
  unsigned all = 0;
  cudaMemcpy(&least_of_all, low, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(&most, high, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(&all, bits, 4, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(low);
  cudaFree(high);
  cudaFree(bits);
  return least_of_all == -100.5f && most == 907 && all == ~0u ? 0 : 3;
}
