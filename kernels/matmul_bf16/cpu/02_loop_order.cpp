// matmul_bf16.cpu.02_loop_order: rows of C, in floats made from rows of B.
//
// CHANGE    the loops go i, p, j: a row of B is read in order, and neighbors of a row of C are summed
//           independently.
// EXPECT    whole vectors where the parent had one number: five times it and more. Each multiply-add needs a
//           conversion, so a float product does as much in less time: the format has saved bytes only.
// NUMERICS  float accumulators in memory; the parent's order of summation.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

void run(const MatmulBf16::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i) {
    float* __restrict__ c = x.c + i * n;
    std::fill_n(c, n, 0.0F);
    for (int64_t p = 0; p < k; ++p) {
      const float a = float_from(x.a[i * k + p]);
      const Bfloat16* __restrict__ b = x.b + p * n;
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) c[j] += a * float_from(b[j]);
    }
  }
}

KLAB_VARIANT(MatmulBf16,
             {.run = run, .parent = "01_naive", .expect = {.shape = {512, 512, 512}, .over_parent = 3}});

}  // namespace
}  // namespace klab
