// transpose.cpu.02_blocked: one small square after the other.
//
// CHANGE    the two loops run over 16x16 squares, so that a line of the output that was fetched is filled
//           before it leaves the cache. Sixteen floats are one line of 64 bytes in both directions.
// EXPECT    beyond the caches several times the parent: a line written costs one transfer and not sixteen.
// NUMERICS  copies bits.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

constexpr int64_t kSide = 16;

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  for (int64_t i0 = 0; i0 < m; i0 += kSide)
    for (int64_t j0 = 0; j0 < n; j0 += kSide) {
      const int64_t i1 = std::min(m, i0 + kSide), j1 = std::min(n, j0 + kSide);
      for (int64_t j = j0; j < j1; ++j)
        for (int64_t i = i0; i < i1; ++i) x.out[j * m + i] = x.in[i * n + j];
    }
}

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "01_naive",
                         .tiles = {kSide},
                         .expect = {.shape = {4096, 4096}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
