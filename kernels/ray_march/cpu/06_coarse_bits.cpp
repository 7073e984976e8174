// ray_march.cpu.06_coarse_bits: a vector of candidates far from everything is not tested.
//
// CHANGE    one byte for each block of 8×8×8 cells tells whether the block or one that touches it holds an
//           occupied cell. Before a vector of candidates is tested, the block of its middle one is checked:
//           all of them lie within a block of it.
// EXPECT    in empty space a dozen instructions and one load in the L1 cache in place of a hundred and a
//           gather: twice as fast where most of the box is far from any surface; nothing where occupied cells
//           are everywhere.
// NUMERICS  bit-exact by contract: skipped candidates are farther from occupied cells than a position's
//           rounding.
// NEEDS     one cascade, steps of one length, half a vector no longer than a block, and enough rays to pay
//           for reading the grid once. Otherwise it works like its parent.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/rays/grid_words.h"
#include "kernels/common/simd.h"
#include "reference/ray_march/ray_march.h"

#include "kernels/common/rays/march_lanes-inl.h"

KLAB_SIMD_BEGIN();

constexpr int64_t kBlock = 8;  // cells along an edge of a block

// Whether all candidates within a block's edge of the distance t are surely in empty cells.
HWY_INLINE bool far_from_everything(const uint8_t* near_occupied, int32_t blocks, const Path& path, float t) {
  int32_t at[3];
  for (int axis = 0; axis < 3; ++axis) {
    const float position = (path.o[axis] + t * path.dir[axis]) * float(blocks);
    at[axis] = std::clamp(int32_t(position), 0, blocks - 1);
  }
  return near_occupied[(at[2] * blocks + at[1]) * blocks + at[0]] == 0;
}

/// near_occupied: [(edge/8)³], x fastest; nullptr: not made.
void march_all(const March::Args<float>& x, const int32_t* words, const uint8_t* near_occupied) {
  const March::Shape& s = x.shape;
  const Grid grid{words, s.grid, s.cascades};
  const float step = x.steps[1];
  // The half vector, and a little more than a position and the middle's distance can be off.
  const bool coarse = near_occupied != nullptr && x.steps[3] == 0 &&
                      (0.5F * float(kLanes) + 0.5F) * step * float(s.grid) < 0.99F * float(kBlock);
  march_rays(x, [&](int64_t ray, float* t_out) HWY_ATTR {
    const Path path(x, ray);
    if (path.empty()) return int64_t(0);
    if (!coarse) return march_vector_by_vector(x, grid, path, t_out);
    int64_t count = 0;
    for (int64_t k = 0; path.first + float(k) * step < path.span.leave; k += kLanes) {
      const float middle = path.first + (float(k) + 0.5F * float(kLanes - 1)) * step;
      if (far_from_everything(near_occupied, int32_t(s.grid / kBlock), path, middle)) continue;
      if (!is_occupied(x, grid, path, on_lattice(path.first, step, lattice_index(k, 1)), t_out, count)) break;
    }
    return std::min(count, s.max_samples);
  });
}

KLAB_SIMD_ONCE(march_all);

#if HWY_ONCE
constexpr int64_t kBlock = 8;  // cells along an edge of a block

// Every second or third bit of a Morton index.
int64_t coordinate(int64_t morton, int axis) {
  int64_t v = 0;
  for (int bit = 0; bit < 10; ++bit) v |= (morton >> (3 * bit + axis) & 1) << bit;
  return v;
}

// [blocks³], x fastest: 1 where a block, or one that touches it, has an occupied cell.
void mark_blocks(const int32_t* words, int64_t blocks, std::vector<uint8_t>& marks) {
  marks.assign(static_cast<size_t>(blocks * blocks * blocks), 0);
  for (int64_t b = 0; b < blocks * blocks * blocks; ++b) {
    int32_t any = 0;  // 512 cells in a row on the Morton curve are a block
    for (int64_t w = 0; w < 16; ++w) any |= words[16 * b + w];
    if (any != 0)
      marks[static_cast<size_t>((coordinate(b, 2) * blocks + coordinate(b, 1)) * blocks + coordinate(b, 0))] =
          1;
  }
  // To the neighbors, one axis after the other; `stride` blocks in a row have the same place along the axis.
  const int64_t all = blocks * blocks * blocks;
  std::vector<uint8_t> before;
  for (int64_t stride : {int64_t(1), blocks, blocks * blocks}) {
    before = marks;
    for (int64_t begin = 0; begin < all; begin += blocks * stride)
      for (int64_t i = begin; i < begin + (blocks - 1) * stride; ++i) {
        marks[static_cast<size_t>(i)] |= before[static_cast<size_t>(i + stride)];
        marks[static_cast<size_t>(i + stride)] |= before[static_cast<size_t>(i)];
      }
  }
}

void run(const RayMarch::Args<float>& x) {
  const RayMarch::Shape& s = x.shape;
  const GridWords words(x);
  std::vector<uint8_t> marks;
  // Marking reads the grid once and costs a few instructions per block; marching a ray costs some thousand.
  const int64_t blocks = s.grid / kBlock;
  const bool coarse = s.cascades == 1 && blocks >= 2 && blocks * blocks * blocks <= 8 * s.rays;
  if (coarse) mark_blocks(words.data(), blocks, marks);
  HWY_DYNAMIC_DISPATCH(march_all)(x, words.data(), coarse ? marks.data() : nullptr);
}

KLAB_VARIANT(RayMarch, {.run = run, .parent = "05_candidates_in_lanes", .tiles = {4, 16, 64}});
KLAB_SIMD_CLOSE();
#endif
