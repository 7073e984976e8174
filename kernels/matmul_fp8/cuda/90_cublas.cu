// matmul_fp8.cuda.90_cublas: cublasLt on the tensor cores, between a kernel that turns B and one for the
// scales.
//
// CHANGE    a vendor's product. It takes bytes only where both factors lie along k, so B is turned before it;
//           its sums are scaled behind it.
// EXPECT    the products near the peak of bytes; two bytes for each element of B and eight for each result
//           more than a kernel needs that turns its tiles and scales its own sums. At 2048 cubed that is 42
//           MB of memory's time, some 10 us.
// NUMERICS  products of e4m3 in sums that are added up in float now and then (no "fast accumulation"); a
//           product.
// NEEDS     a GPU of compute capability 8.9, libcublasLt next to its driver; m, n and k multiples of 16.
// TRIED     see NOTES.md
#include "harness/core/registrar.h"
#include "kernels/common/matmul/scale_columns.h"
#include "kernels/common/vendor/cublas_lt.h"
#include "reference/matmul_fp8/matmul_fp8.h"

namespace klab {
namespace {

constexpr int kTile = 32, kRows = 8;

/// turned[n,k] = b[k,n]^T, squares of 32 by way of shared memory.
__global__ void __launch_bounds__(kTile* kRows)
    turn(const uint8_t* __restrict__ b, uint8_t* __restrict__ turned, int64_t n, int64_t k) {
  __shared__ uint8_t tile[kTile][kTile + 4];
  const int64_t across = (n + kTile - 1) / kTile;
  const int64_t p0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  const int x = int(threadIdx.x) % kTile, y = int(threadIdx.x) / kTile;
  for (int r = y; r < kTile; r += kRows)
    if (p0 + r < k && j0 + x < n) tile[r][x] = b[(p0 + r) * n + j0 + x];
  __syncthreads();
  for (int r = y; r < kTile; r += kRows)
    if (j0 + r < n && p0 + x < k) turned[(j0 + r) * k + p0 + x] = tile[x][r];
}

void run(const MatmulFp8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  cuda::Scratch turned(size_t(n * k));
  const int64_t squares = ((k + kTile - 1) / kTile) * ((n + kTile - 1) / kTile);
  cuda::launch(turn, dim3(unsigned(squares)), dim3(kTile * kRows), 0, x.b, turned.as<uint8_t>(), n, k);
  cublas_lt::multiply(m, n, k, x.a, turned.as<uint8_t>(), x.c);
  scale_columns(x.c, x.scale, x.c, m, n);
}

std::string supported(const MatmulFp8::Shape& s, const Host& host) {
  if (s.m % 16 != 0 || s.n % 16 != 0 || s.k % 16 != 0) return "needs rows, columns and depths in sixteens";
  return cublas_lt::supported(host);
}

KLAB_VARIANT(MatmulFp8, {.run = run, .numerics = {.unit = Unit::f16}, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
