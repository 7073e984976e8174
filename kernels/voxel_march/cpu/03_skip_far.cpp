// voxel_march.cpu.03_skip_far: empty blocks of 16x16x16 and 4x4x4 cells are left in one jump.
//
// CHANGE    sixty-four cells in a row on the Morton curve are a block of 4x4x4, and one word shows whether
//           all are empty. Before the first ray every run of 64 words becomes one byte that shows the same
//           for a block of 16x16x16. After an empty block the nearest of its three far planes comes next. A
//           product gives the ray's position along the other two axes, and the planes next to it show whether
//           rounding put it one cell off.
// EXPECT    a jump costs some plain steps; blocks of four save few of them, blocks of sixteen up to forty.
//           Twice as fast or more around an object in empty air. Reading the whole grid once is little
//           compared to thousands of rays.
// NUMERICS  bit-exact by contract: a plane's distance does not depend on the planes before it.
// NEEDS     nothing; grids below 16 have no large blocks, grids below 4 none.
// TRIED     see NOTES.md, cpu.03_skip_far
#include <cstring>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/voxel_march/voxel_march.h"

namespace klab {
namespace {

#include "kernels/voxel_march/cpu/03_skip_far-inl.h"

// Whether anything is in each block of 16x16x16 cells.
std::vector<uint8_t> far_blocks(const March::Args<float>& x) {
  constexpr int64_t kBytes = 16 * 16 * 16 / 8;
  const int64_t grid = x.shape.grid;
  std::vector<uint8_t> any(size_t(grid * grid * grid / 8 / kBytes));
  for (size_t b = 0; b < any.size(); ++b)
    for (uint32_t word = 0; word < kBytes / 8 && any[b] == 0; ++word)
      any[b] = !empty_word(x.occupancy + int64_t(b) * kBytes, 64 * word);
  return any;
}

#include "kernels/voxel_march/cpu/03_skip_far_pieces-inl.h"

void run(const March::Args<float>& x) {
  const March::Shape& s = x.shape;
  const std::vector<uint8_t> far = far_blocks(x);
  std::vector<Piece> pieces(size_t(s.most()));
  int64_t total = 0;
  bool full = false;
  for (int64_t r = 0; r < s.rays; ++r) {
    x.ray_begin[r] = int32_t(total);
    if (full) continue;
    const int64_t count = march(x, far, r, pieces.data());
    full = total + count > s.capacity;
    if (full) continue;
    for (int64_t i = 0; i < count; ++i, ++total) {
      const float length = pieces[size_t(i)].to - pieces[size_t(i)].from;
      x.t[total] = pieces[size_t(i)].from + 0.5F * length;
      x.delta[total] = length;
    }
  }
  x.ray_begin[s.rays] = int32_t(total);
}

KLAB_VARIANT(VoxelMarch, {.run = run,
                          .parent = "01_naive",
                          .tiles = {4, 16},
                          .expect = {.shape = {8192, 256, 1 << 20}, .over_parent = 2}});

}  // namespace
}  // namespace klab
