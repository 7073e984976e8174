// gs_rasterize_bwd.cpu.03_vectors: as many pixels of a row at once as a vector has lanes.
//
// CHANGE    the inner loop runs over vectors; nine sums stay in registers over a tile's rows, and their lanes are added once
//           a Gaussian and tile. Gradients of a Gaussian lie in one line until the end.
// EXPECT    as the forward's 03_vectors. Adding up lanes costs as much as two rows or three.
// NUMERICS  sums over lanes, then rows, then tiles.
// NEEDS     nothing; any number of lanes up to 16.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/gaussian/records.h"
#include "kernels/common/simd.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/gaussian/03_vectors-inl.h"

void walk_all(const GsRasterizeBwd::Args<float>& x, const GsRecord* records, GsGradient* out) {
  for (int64_t t = 0; t < x.shape.tiles(); ++t) walk(x, records, t, out);
}

KLAB_SIMD_ONCE(walk_all);

#if HWY_ONCE
#include "kernels/common/gaussian/03_vectors_run-inl.h"

KLAB_VARIANT(GsRasterizeBwd, {.run = run,
                              .parent = "02_tiles",
                              .forward = "03_vectors",
                              .numerics = {.growth = Growth::linear},
                              .tiles = {4, 16},
                              .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
