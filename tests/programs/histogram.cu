// Histograms by atomics, in shared memory first; weights of bins in constant memory; bytes packed in words.
#include <vector>

#include "check.h"

#define BINS 64
__constant__ float weights[BINS];
__device__ __constant__ unsigned shift = 2;

__global__ void count(const unsigned* data, unsigned words, unsigned* bins) {
  __shared__ unsigned mine[BINS];
  for (unsigned k = threadIdx.x; k < BINS; k += blockDim.x) mine[k] = 0;
  __syncthreads();
  for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < words; k += blockDim.x * gridDim.x) {
    const unsigned four = data[k];
    for (unsigned b = 0; b < 32; b += 8) atomicAdd(&mine[(four >> b & 255u) >> shift], 1u);
  }
  __syncthreads();
  for (unsigned k = threadIdx.x; k < BINS; k += blockDim.x) atomicAdd(bins + k, mine[k]);
}
__global__ void weigh(const unsigned* bins, float* sum) {
  atomicAdd(sum, float(bins[threadIdx.x]) * weights[threadIdx.x]);
}

int main() {
  const unsigned words = 4096;
  std::vector<unsigned> data(words), bins(BINS);
  std::vector<unsigned> wanted(BINS);
  std::vector<float> w(BINS);
  unsigned state = 12345;
  for (unsigned& v : data) {
    state = state * 1664525u + 1013904223u;
    v = state;
    for (unsigned b = 0; b < 32; b += 8) ++wanted[(v >> b & 255u) >> 2];
  }
  for (int k = 0; k < BINS; ++k) w[k] = float(k % 4);
  CHECK(cudaMemcpyToSymbol(weights, w.data(), sizeof weights));
  unsigned *d, *b;
  float* s;
  CHECK(cudaMalloc(&d, words * 4));
  CHECK(cudaMalloc(&b, BINS * 4));
  CHECK(cudaMalloc(&s, 4));
  CHECK(cudaMemset(b, 0, BINS * 4));
  CHECK(cudaMemset(s, 0, 4));
  CHECK(cudaMemcpy(d, data.data(), words * 4, cudaMemcpyHostToDevice));
  count<<<8, 128>>>(d, words, b);
  weigh<<<1, BINS>>>(b, s);
  float sum = 0;
  CHECK(cudaMemcpy(bins.data(), b, BINS * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(&sum, s, 4, cudaMemcpyDeviceToHost));
  double wanted_sum = 0;
  for (int k = 0; k < BINS; ++k) {
    require_near(bins[k], wanted[k], 0, "a bin");
    wanted_sum += double(wanted[k]) * w[k];
  }
  require_near(sum, wanted_sum, 0, "the weighted sum");
  cudaFree(d), cudaFree(b), cudaFree(s);
  std::printf("histogram passed\n");
}
