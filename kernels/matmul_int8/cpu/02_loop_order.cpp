// matmul_int8.cpu.02_loop_order: rows of sums.
//
// CHANGE    the loops go i, p, j over a row of 32-bit sums; B is read in order, 1024 columns at a time, so that the sums stay
//           in L1.
// EXPECT    vectors in place of single bytes: five times the parent. A byte is widened to 32 bits before it is multiplied, so
//           a vector has no more products than with floats: three quarters of the format are lost again.
// NUMERICS  exact sums; a conversion and a product.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/matmul_int8/matmul_int8.h"

namespace klab {
namespace {

constexpr int64_t kColumns = 1024;

void run(const MatmulInt8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  alignas(64) int32_t sums[kColumns];
  for (int64_t j0 = 0; j0 < n; j0 += kColumns)
    for (int64_t i = 0; i < m; ++i) {
      const int64_t width = std::min(kColumns, n - j0);
      std::fill(sums, sums + width, 0);
      for (int64_t p = 0; p < k; ++p) {
        const int32_t a = x.a[i * k + p];
        const int8_t* b = x.b + p * n + j0;
#pragma omp simd
        for (int64_t j = 0; j < width; ++j) sums[j] += a * b[j];
      }
      for (int64_t j = 0; j < width; ++j) x.c[i * n + j0 + j] = float(sums[j]) * x.scale[j0 + j];
    }
}

KLAB_VARIANT(MatmulInt8,
             {.run = run, .parent = "01_naive", .expect = {.shape = {512, 512, 512}, .over_parent = 3}});

}  // namespace
}  // namespace klab
