// voxel_march.cpu.04_threads: rays are dealt to threads in chunks.
//
// CHANGE    threads march chunks of rays into buffers of their own; a sum over the counts gives each ray its place, and a second
//           pass copies. The far blocks are made by all threads, too.
// EXPECT    close to the number of threads: rays do not depend on each other, and the copy is small.
// NUMERICS  bit-exact by contract; no order depends on timing.
// NEEDS     as the parent.
#include <algorithm>
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
#pragma omp parallel for schedule(static)
  for (size_t b = 0; b < any.size(); ++b)
    for (uint32_t word = 0; word < kBytes / 8 && any[b] == 0; ++word)
      any[b] = !empty_word(x.occupancy + int64_t(b) * kBytes, 64 * word);
  return any;
}

#include "kernels/voxel_march/cpu/03_skip_far_pieces-inl.h"

constexpr int64_t kChunk = 64;  // rays

void run(const March::Args<float>& x) {
  const March::Shape& s = x.shape;
  const int64_t chunks = (s.rays + kChunk - 1) / kChunk;
  const auto end_of = [&](int64_t c) { return std::min(s.rays, (c + 1) * kChunk); };
  const std::vector<uint8_t> far = far_blocks(x);
  std::vector<std::vector<Piece>> kept(static_cast<size_t>(chunks));
  std::vector<int32_t> counts(static_cast<size_t>(s.rays));
#pragma omp parallel
  {
    std::vector<Piece> one(static_cast<size_t>(s.most()));
#pragma omp for schedule(dynamic)
    for (int64_t c = 0; c < chunks; ++c)
      for (int64_t r = c * kChunk; r < end_of(c); ++r) {
        const int64_t count = march(x, far, r, one.data());
        counts[static_cast<size_t>(r)] = int32_t(count);
        auto& mine = kept[static_cast<size_t>(c)];
        mine.insert(mine.end(), one.begin(), one.begin() + count);
      }
  }
  int64_t total = 0;
  bool full = false;
  for (int64_t r = 0; r < s.rays; ++r) {
    x.ray_begin[r] = int32_t(total);
    full = full || total + counts[static_cast<size_t>(r)] > s.capacity;
    if (!full) total += counts[static_cast<size_t>(r)];
  }
  x.ray_begin[s.rays] = int32_t(total);
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < chunks; ++c) {
    // A chunk's samples are contiguous in the result too; only its last rays may have been refused.
    const int64_t begin = x.ray_begin[c * kChunk];
    for (int64_t i = begin; i < x.ray_begin[end_of(c)]; ++i) {
      const Piece& piece = kept[static_cast<size_t>(c)][static_cast<size_t>(i - begin)];
      const float length = piece.to - piece.from;
      x.t[i] = piece.from + 0.5F * length;
      x.delta[i] = length;
    }
  }
}

KLAB_VARIANT(VoxelMarch, {.run = run,
                          .parent = "03_skip_far",
                          .tiles = {4, 16, kChunk},
                          .expect = {.shape = {8192, 256, 1 << 20}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
