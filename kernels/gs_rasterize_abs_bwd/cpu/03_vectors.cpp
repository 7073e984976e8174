// gs_rasterize_abs_bwd.cpu.03_vectors: as many pixels of a row at once as a vector has lanes.
//
// CHANGE    a Gaussian at a time over the pixels of a tile, as gs_rasterize_bwd.cpu.03_vectors. What a pixel adds to the mean cannot be
//           made of the other sums after the loop, since it is needed before its sign is lost: two products and two sums more.
// EXPECT    eleven sums of a tile in registers, a tenth more time than for nine.
// NUMERICS  sums over lanes, then rows, then tiles.
// NEEDS     nothing; any number of lanes up to 16.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/gaussian/records.h"
#include "kernels/common/simd.h"
#include "reference/gs_rasterize_abs_bwd/gs_rasterize_abs_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/gaussian/03_vectors-inl.h"

void walk_all(const GsRasterizeAbsBwd::Args<float>& x, const GsRecord* records, GsGradient* out) {
  for (int64_t t = 0; t < x.shape.tiles(); ++t) walk(x, records, t, out);
}

KLAB_SIMD_ONCE(walk_all);

#if HWY_ONCE
#include "kernels/common/gaussian/03_vectors_run-inl.h"

KLAB_VARIANT(GsRasterizeAbsBwd, {.run = run,
                                 .parent = "01_pixels",
                                 .forward = "03_vectors",
                                 .numerics = {.growth = Growth::linear},
                                 .tiles = {4, 16},
                                 .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 5}});
KLAB_SIMD_CLOSE();
#endif
