// ray_march.cpu.05_candidates_in_lanes: a vector of candidates is tested at once.
//
// CHANGE    sixteen neighboring candidates of a ray lie in the lanes of a vector: positions, cells and Morton
//           indices are computed together, one gather fetches their words of the grid, and a compressing
//           store keeps the distances whose bit is set. No jumps: a vector of candidates reaches further than
//           most of them.
// EXPECT    some 100 instructions for sixteen candidates in place of 60 each and a branch that is hard to
//           predict: twice as fast and more where steps are about as long as cells; less where an 8×8×8 block
//           holds many vectors.
// NUMERICS  bit-exact by contract: the same operations on the same numbers, lane by lane.
// NEEDS     nothing; a grid of 2 cells an edge, or one that does not begin at a multiple of 4 bytes, is
//           copied first.
// TRIED     see NOTES.md, cpu.05_candidates_in_lanes
#include "harness/core/registrar.h"
#include "kernels/common/rays/grid_words.h"
#include "kernels/common/simd.h"
#include "reference/ray_march/ray_march.h"

#include "kernels/common/rays/march_lanes-inl.h"

KLAB_SIMD_BEGIN();

void march_all(const March::Args<float>& x, const int32_t* words) {
  const Grid grid{words, x.shape.grid, x.shape.cascades};
  march_rays(x, [&](int64_t ray, float* t_out) HWY_ATTR {
    const Path path(x, ray);
    return path.empty() ? 0 : march_vector_by_vector(x, grid, path, t_out);
  });
}

KLAB_SIMD_ONCE(march_all);

#if HWY_ONCE
void run(const RayMarch::Args<float>& x) {
  const GridWords words(x);
  HWY_DYNAMIC_DISPATCH(march_all)(x, words.data());
}

KLAB_VARIANT(RayMarch, {.run = run,
                        .parent = "04_threads",
                        .tiles = {4, 16, 64},
                        .expect = {.shape = {8192, 128, 1, 1024, 1 << 20}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
