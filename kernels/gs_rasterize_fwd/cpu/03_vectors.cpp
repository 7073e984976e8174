// gs_rasterize_fwd.cpu.03_vectors: as many pixels of a row at once as a vector has lanes.
//
// CHANGE    the inner loop runs over vectors of a tile's row; exponential by polynomial, decisions by masks. A row in which
//           all pixels have ended is left out.
// EXPECT    a row of a tile is one vector of AVX-512. Lanes outside of the ellipse are computed for nothing, so less than the
//           number of lanes.
// NUMERICS  as the parent, T·(1 - alpha) and the exponent by fused multiply-adds.
// NEEDS     nothing; any number of lanes up to 16.
#include <algorithm>
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

void draw_all(const GsRasterizeFwd::Args<float>& x, const GsRecord* records) {
  for (int64_t t = 0; t < x.shape.tiles(); ++t) draw(x, records, t);
}

KLAB_SIMD_ONCE(draw_all);

#if HWY_ONCE
void run(const GsRasterizeFwd::Args<float>& x) {
  std::vector<GsRecord> records(static_cast<size_t>(x.shape.n));
  for (int64_t g = 0; g < x.shape.n; ++g) records[size_t(g)] = gs_record(x, g);
  HWY_DYNAMIC_DISPATCH(draw_all)(x, records.data());
}

KLAB_VARIANT(GsRasterizeFwd, {.run = run,
                              .parent = "02_tiles",
                              .numerics = {.growth = Growth::linear},
                              .tiles = {4, 16},
                              .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
