// gs_bin.cpu.01_naive: for each tile all Gaussians.
//
// CHANGE    the naive loop: a tile tests every Gaussian, nearest first, for whether its box reaches it.
// EXPECT    tiles x Gaussians tests, although each Gaussian is in a few lists only.
// NUMERICS  float sums and quotients, as in the contract.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/gs_bin/gs_bin.h"

namespace klab {
namespace {

/// Whether [mean - extent, mean + extent] has a point in the tile.
bool reaches(float mean, float extent, int64_t tile) {
  return std::floor((mean - extent) / 16) <= float(tile) && std::floor((mean + extent) / 16) >= float(tile);
}

void run(const GsBin::Args<float>& x) {
  const GsBin::Shape& s = x.shape;
  int64_t count = 0;
  for (int64_t t = 0; t < s.tiles(); ++t) {
    x.tile_begin[t] = int32_t(std::min(count, s.pairs));
    for (int64_t k = 0; k < s.n; ++k) {
      const int64_t i = x.order[k];
      if (!(x.extent[i] > 0 && x.extent[s.n + i] > 0)) continue;
      if (!reaches(x.mean[i], x.extent[i], t % s.columns())) continue;
      if (!reaches(x.mean[s.n + i], x.extent[s.n + i], t / s.columns())) continue;
      if (count < s.pairs) x.id[count] = int32_t(i);
      ++count;
    }
  }
  x.tile_begin[s.tiles()] = int32_t(std::min(count, s.pairs));
  for (int64_t k = count; k < s.pairs; ++k) x.id[k] = int32_t(s.n);
  x.needed[0] = int32_t(count);
}

KLAB_VARIANT(GsBin, {.run = run});

}  // namespace
}  // namespace klab
