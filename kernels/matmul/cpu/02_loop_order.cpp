// matmul.cpu.02_loop_order: the two inner loops change places.
//
// CHANGE    i, p, j for i, j, p: the innermost loop walks along rows of B and C.
// EXPECT    every byte of a cache line is used, the additions no longer wait for each other, and the
//           compiler can make vectors of them: at least 5 times at 512, more where columns of B fell out
//           of the caches.
// NUMERICS  float accumulator in memory, one chain of k additions: the same bits as the parent.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i) {
    float* c = x.c + i * n;
    std::fill_n(c, n, 0.0F);
    for (int64_t p = 0; p < k; ++p) {
      const float a = x.a[i * k + p];
      const float* b = x.b + p * n;
      for (int64_t j = 0; j < n; ++j) c[j] += a * b[j];
    }
  }
}

KLAB_VARIANT(Matmul,
             {.run = run, .parent = "01_naive", .expect = {.shape = {512, 512, 512}, .over_parent = 5}});

}  // namespace
}  // namespace klab
