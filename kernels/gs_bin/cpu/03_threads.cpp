// gs_bin.cpu.03_threads: every thread has a band of rows of tiles.
//
// CHANGE    boxes are found in equal parts; then each thread goes through all boxes in order for its own rows
//           of tiles only, to count and again to fill. No thread writes into another's lists.
// EXPECT    less than the number of cores: every thread reads all boxes, 16 bytes each in a scattered order,
//           twice.
// NUMERICS  float sums and quotients, as in the contract.
// NEEDS     16 bytes a Gaussian.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/gs_bin/gs_bin.h"

namespace klab {
namespace {

#include "kernels/gs_bin/cpu/02_counting-inl.h"

constexpr int64_t kLeast = 1024;  // Gaussians for which threads are worth waking

/// Calls with (tile, Gaussian) for all tiles in the rows [top,bottom), nearest Gaussian first.
template <class Each>
void go_through(const GsBin::Args<float>& x, const std::vector<Box>& boxes, int32_t top, int32_t bottom,
                const Each& each) {
  const int64_t columns = x.shape.columns();
  for (int64_t k = 0; k < x.shape.n; ++k) {
    const int32_t i = x.order[k];
    const Box& b = boxes[size_t(i)];
    for (int64_t row = std::max(b.top, top); row < std::min(b.bottom, bottom); ++row)
      for (int64_t column = b.left; column < b.right; ++column) each(row * columns + column, i);
  }
}

void run(const GsBin::Args<float>& x) {
  const GsBin::Shape& s = x.shape;
  std::vector<Box> boxes(static_cast<size_t>(s.n));
  std::vector<int64_t> next(size_t(s.tiles()));
#pragma omp parallel if (s.n > kLeast)
  {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < s.n; ++i) boxes[size_t(i)] = box_of(x, i);
    const int64_t mine = omp_get_thread_num(), all = omp_get_num_threads();
    const auto top = int32_t(s.rows() * mine / all), bottom = int32_t(s.rows() * (mine + 1) / all);
    go_through(x, boxes, top, bottom, [&](int64_t t, int32_t) { ++next[size_t(t)]; });
#pragma omp barrier
#pragma omp single
    {
      int64_t before = 0;
      for (int64_t t = 0; t < s.tiles(); ++t) {
        x.tile_begin[t] = int32_t(std::min(before, s.pairs));
        before += std::exchange(next[size_t(t)], before);
      }
      x.tile_begin[s.tiles()] = int32_t(std::min(before, s.pairs));
      x.needed[0] = int32_t(before);
      for (int64_t k = before; k < s.pairs; ++k) x.id[k] = int32_t(s.n);
    }
    go_through(x, boxes, top, bottom, [&](int64_t t, int32_t i) {
      const int64_t to = next[size_t(t)]++;
      if (to < s.pairs) x.id[to] = i;
    });
  }
}

KLAB_VARIANT(GsBin, {.run = run,
                     .parent = "02_counting",
                     .tiles = {kLeast},
                     .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
