// A product of matrices of halves on tensor cores: a block of 8 warps makes a tile of 128 x 128, staged in shared memory in
// pieces of 64 columns by copies of 16 bytes a lane, 8 lanes a row. Its sectors on GPUs are public (docs/cuda-on-the-host.md):
// 2 * 128 * n * 2 / 32 for a and b, and 128 * 128 * 4 / 32 for c, a tile.
//
// tensor_product [N]: a multiple of 128.
#include <cuda_fp16.h>
#include <mma.h>

#include <vector>

#include "../check.h"

using namespace nvcuda;

constexpr int kTile = 128, kDepth = 64, kPitch = kDepth + 8, kWarps = 8;

__global__ void __launch_bounds__(kWarps * 32)
    product(float* d, const half* a, const half* b, const float* c, int n) {
  extern __shared__ __align__(16) unsigned char memory[];
  half(*const rows)[kPitch] =
      reinterpret_cast<half(*)[kPitch]>(memory);  // 128 rows of a, then 128 columns of b
  float* const sums = reinterpret_cast<float*>(memory);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row0 = blockIdx.x / (n / kTile) * kTile, column0 = blockIdx.x % (n / kTile) * kTile;

  // c, a row of 128 floats a warp and step.
  for (int r = warp; r < kTile; r += kWarps)
    reinterpret_cast<float4*>(sums + r * kTile)[lane] =
        reinterpret_cast<const float4*>(c + size_t(row0 + r) * n + column0)[lane];
  __syncthreads();
  // A warp has 32 rows and 64 columns of the tile: 2 x 4 fragments.
  const int i0 = warp / 2 * 32, j0 = warp % 2 * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][4];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      wmma::load_matrix_sync(sum[i][j], sums + (i0 + 16 * i) * kTile + j0 + 16 * j, kTile,
                             wmma::mem_row_major);
  __syncthreads();
  for (int k0 = 0; k0 < n; k0 += kDepth) {
    // Warps 0 to 3 take a, 4 to 7 b: 32 rows each, 4 at a time.
    const half* const from =
        warp < 4 ? a + size_t(row0 + 32 * warp) * n : b + size_t(column0 + 32 * (warp - 4)) * n;
    for (int r = lane / 8; r < 32; r += 4)
      *reinterpret_cast<int4*>(&rows[32 * warp + r][lane % 8 * 8]) =
          *reinterpret_cast<const int4*>(from + size_t(r) * n + k0 + lane % 8 * 8);
    __syncthreads();
    for (int k = 0; k < kDepth; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> of_a[2];
      for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(of_a[i], &rows[i0 + 16 * i][k], kPitch);
      for (int j = 0; j < 4; ++j) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> of_b;
        wmma::load_matrix_sync(of_b, &rows[kTile + j0 + 16 * j][k], kPitch);
        for (int i = 0; i < 2; ++i) wmma::mma_sync(sum[i][j], of_a[i], of_b, sum[i][j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      wmma::store_matrix_sync(sums + (i0 + 16 * i) * kTile + j0 + 16 * j, sum[i][j], kTile,
                              wmma::mem_row_major);
  __syncthreads();
  for (int r = warp; r < kTile; r += kWarps)
    reinterpret_cast<float4*>(d + size_t(row0 + r) * n + column0)[lane] =
        reinterpret_cast<const float4*>(sums + r * kTile)[lane];
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 128;
  const size_t all = size_t(n) * n;
  std::vector<half> a(all), b(all);  // b by columns
  std::vector<float> c(all), d(all);
  for (size_t k = 0; k < all; ++k)
    a[k] = half(float(k % 5) - 2), b[k] = half(float(k % 3) - 1), c[k] = float(k % 7);
  half *da, *db;
  float *dc, *dd;
  CHECK(cudaMalloc(&da, all * 2));
  CHECK(cudaMalloc(&db, all * 2));
  CHECK(cudaMalloc(&dc, all * 4));
  CHECK(cudaMalloc(&dd, all * 4));
  CHECK(cudaMemcpy(da, a.data(), all * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), all * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dc, c.data(), all * 4, cudaMemcpyHostToDevice));
  constexpr int bytes = kTile * kTile * 4;
  CHECK(cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  product<<<n / kTile*(n / kTile), kWarps * 32, bytes>>>(dd, da, db, dc, n);
  CHECK(cudaMemcpy(d.data(), dd, all * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i += 31)
    for (int j = 0; j < n; ++j) {
      double sum = c[size_t(i) * n + j];
      for (int k = 0; k < n; ++k)
        sum += double(float(a[size_t(i) * n + k])) * double(float(b[size_t(j) * n + k]));
      require_near(d[size_t(i) * n + j], sum, 0, "an element");
    }
  cudaFree(da), cudaFree(db), cudaFree(dc), cudaFree(dd);
  std::printf("tensor_product passed\n");
}
