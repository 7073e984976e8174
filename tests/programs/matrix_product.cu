// Matrix products: tiles in shared memory, and tensor cores through wmma with half and float.
#include <cuda_fp16.h>
#include <mma.h>

#include <vector>

#include "check.h"

using namespace nvcuda;

template <int tile>
__global__ void product(float* c, const float* a, const float* b, int n) {
  __shared__ float as[tile][tile], bs[tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += tile) {
    as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
__global__ void to_half(__half* to, const float* from, int n) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < n) to[k] = __float2half(from[k]);
}
__global__ void product_wmma(float* c, const half* a, const half* b, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  const int row = blockIdx.y * 16, column = blockIdx.x * 16;
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(fa, a + row * n + k, n);
    wmma::load_matrix_sync(fb, b + k * n + column, n);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c + row * n + column, fc, n, wmma::mem_row_major);
}

int main() {
  const int n = 64;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int k = 0; k < n * n; ++k) a[k] = float(k % 5 - 2), b[k] = float(k % 3 - 1);
  float *da, *db, *dc;
  half *ha, *hb;
  for (float** p : {&da, &db, &dc}) CHECK(cudaMalloc(p, n * n * 4));
  for (half** p : {&ha, &hb}) CHECK(cudaMalloc(p, n * n * 2));
  CHECK(cudaMemcpy(da, a.data(), n * n * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), n * n * 4, cudaMemcpyHostToDevice));
  const auto compare = [&] {
    CHECK(cudaMemcpy(c.data(), dc, n * n * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int k = 0; k < n; ++k) sum += double(a[i * n + k]) * b[k * n + j];
        require_near(c[i * n + j], sum, 0, "an element");
      }
  };
  product<16><<<dim3(n / 16, n / 16), dim3(16, 16)>>>(dc, da, db, n);
  compare();
  to_half<<<n * n / 256, 256>>>(ha, da, n * n);
  to_half<<<n * n / 256, 256>>>(hb, db, n * n);
  CHECK(cudaMemset(dc, 0, n * n * 4));
  product_wmma<<<dim3(n / 16, n / 16), 32>>>(dc, ha, hb, n);
  compare();
  for (void* p : {(void*)da, (void*)db, (void*)dc, (void*)ha, (void*)hb}) cudaFree(p);
  std::printf("matrix_product passed\n");
}
