// gs_bin.cpu.02_counting: each Gaussian goes to its own tiles.
//
// CHANGE    four quotients give the tiles that a Gaussian covers. They are counted, the counts are added up
//           to places, and Gaussians are written there in their order: a counting sort by tile. Because they
//           come nearest first, so are the lists.
// EXPECT    work in proportion to Gaussians and entries, instead of tiles x Gaussians.
// NUMERICS  float sums and quotients, as in the contract.
// NEEDS     16 bytes a Gaussian.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/gs_bin/gs_bin.h"

namespace klab {
namespace {

#include "kernels/gs_bin/cpu/02_counting-inl.h"

void run(const GsBin::Args<float>& x) {
  const GsBin::Shape& s = x.shape;
  std::vector<Box> boxes(static_cast<size_t>(s.n));
  std::vector<int64_t> next(size_t(s.tiles()));
  for (int64_t i = 0; i < s.n; ++i) {
    const Box b = boxes[size_t(i)] = box_of(x, i);
    for (int64_t row = b.top; row < b.bottom; ++row)
      for (int64_t column = b.left; column < b.right; ++column) ++next[size_t(row * s.columns() + column)];
  }
  int64_t before = 0;
  for (int64_t t = 0; t < s.tiles(); ++t) {
    x.tile_begin[t] = int32_t(std::min(before, s.pairs));
    before += std::exchange(next[size_t(t)], before);
  }
  x.tile_begin[s.tiles()] = int32_t(std::min(before, s.pairs));
  x.needed[0] = int32_t(before);
  for (int64_t k = 0; k < s.n; ++k) {
    const int32_t i = x.order[k];
    const Box& b = boxes[size_t(i)];
    for (int64_t row = b.top; row < b.bottom; ++row)
      for (int64_t column = b.left; column < b.right; ++column) {
        const int64_t to = next[size_t(row * s.columns() + column)]++;
        if (to < s.pairs) x.id[to] = i;
      }
  }
  for (int64_t k = before; k < s.pairs; ++k) x.id[k] = int32_t(s.n);
}

KLAB_VARIANT(GsBin, {.run = run,
                     .parent = "01_naive",
                     .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 20}});

}  // namespace
}  // namespace klab
