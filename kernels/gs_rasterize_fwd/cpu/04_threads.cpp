// gs_rasterize_fwd.cpu.04_threads: tiles shared out among the cores.
//
// CHANGE    a thread takes the next few tiles when it is done with its own; records are made in equal parts.
// EXPECT    near the number of cores: tiles share no pixels, and have lists of very different lengths.
// NUMERICS  as the parent: the same bits, whichever thread draws a tile.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/gaussian/records.h"
#include "kernels/common/simd.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/gs_rasterize_fwd/cpu/03_vectors-inl.h"

/// Draws the next tiles that no thread has taken, until there are none.
void draw_some(const GsRasterizeFwd::Args<float>& x, const GsRecord* records, std::atomic<int64_t>& next) {
  constexpr int64_t kAtOnce = 4;
  while (true) {
    const int64_t first = next.fetch_add(kAtOnce, std::memory_order_relaxed);
    if (first >= x.shape.tiles()) return;
    for (int64_t t = first; t < std::min(first + kAtOnce, x.shape.tiles()); ++t) draw(x, records, t);
  }
}

KLAB_SIMD_ONCE(draw_some);

#if HWY_ONCE
void run(const GsRasterizeFwd::Args<float>& x) {
  std::vector<GsRecord> records(static_cast<size_t>(x.shape.n));
  std::atomic<int64_t> next{0};
  const bool large = x.shape.tiles() > 4 || x.shape.n > 1000;
#pragma omp parallel if (large)
  {
#pragma omp for schedule(static)
    for (int64_t g = 0; g < x.shape.n; ++g) records[size_t(g)] = gs_record(x, g);
    HWY_DYNAMIC_DISPATCH(draw_some)(x, records.data(), next);
  }
}

KLAB_VARIANT(GsRasterizeFwd, {.run = run,
                              .parent = "03_vectors",
                              .numerics = {.growth = Growth::linear},
                              .tiles = {64},
                              .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
