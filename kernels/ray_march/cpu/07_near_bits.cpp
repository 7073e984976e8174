// ray_march.cpu.07_near_bits: only parts of vectors near something are tested, packed together.
//
// CHANGE    marks as in 06_coarse_bits, but of cubes of 2×2×2 cells, and as many candidates for a mark as
//           these cover, though not fewer than four: then cubes are larger. Their bits lie in rows along x,
//           so that spreading them to neighbors is shifts and ORs of words. The middles of sixteen parts are
//           looked up at once, and those near something are listed. Then parts of the list fill vectors that
//           are tested.
// EXPECT    1.3 times or more for an object in empty air: sixteen candidates are nine cells long there, and a
//           mark that covers all of them reaches eight to each side and more. A part's mark reaches two. No
//           gain if something is everywhere: then it does not look up marks.
// NUMERICS  bit-exact by contract: skipped candidates are farther from occupied cells than a position's
//           rounding.
// NEEDS     one cascade, steps of one length, parts shorter than the grid, a third of it empty air, and
//           enough rays to pay for reading the grid once. Otherwise it works like candidates_in_lanes.
// TRIED     see NOTES.md, cpu.07_near_bits
#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/rays/grid_words.h"
#include "kernels/common/simd.h"
#include "reference/ray_march/ray_march.h"

#include "kernels/common/rays/march_lanes-inl.h"

KLAB_SIMD_BEGIN();

constexpr auto kLeast = int32_t(std::min<int64_t>(4, kLanes));  // candidates of a part
constexpr int64_t kListed = 512;  // parts of a ray that are listed before they are tested

/// Cubes of cells near something: a row of up to 64 along x is a word, rows along y, then z.
struct Marks {
  int64_t edge = 0;  // cubes along an edge of the grid; 0: not made
  std::vector<uint64_t> rows;

  int32_t part = kLanes;                       // candidates of a part
  HWY_ALIGN int32_t of_lane[16], in_part[16];  // lane i holds candidate in_part[i] of part of_lane[i]

  // For candidates `step` cells apart: as many together as the smallest cubes can speak for. Not made where cubes would
  // be as large as the grid, or most of them near something.
  void make(const int32_t* words, int64_t grid, float step) {
    // Half a part, and a little more than a position and the middle's distance can be off.
    const auto reach = [&] { return (0.5F * float(part) + 0.5F) * step / 0.99F; };
    int64_t cube = std::max<int64_t>(2, grid / 64);
    while (part > kLeast && !(reach() < float(cube))) part /= 2;
    while (cube < grid && !(reach() < float(cube))) cube *= 2;
    if (grid < 8 || 2 * cube > grid) return;
    for (int32_t i = 0; i < int32_t(kLanes); ++i) of_lane[i] = i / part, in_part[i] = i % part;
    edge = grid / cube;
    rows.assign(size_t(edge * edge), 0);
    for (int64_t block = 0; block < grid * grid * grid / 64; ++block) {
      uint64_t cells;  // of 4×4×4
      std::memcpy(&cells, words + 2 * block, sizeof cells);
      if (cells != 0) mark(cells, closed_up(block), closed_up(block >> 1), closed_up(block >> 2), cube);
    }
    for (uint64_t& row : rows) row |= row << 1 | row >> 1;
    spread_rows(1);
    spread_rows(edge);
    int64_t near = 0;
    for (const uint64_t row : rows) near += __builtin_popcountll(row);
    if (3 * near > 2 * edge * edge * edge) edge = 0;
  }

 private:
  // Every third bit, from the lowest on.
  static int64_t closed_up(int64_t v) {
    v &= 0x09249249;
    v = (v | v >> 2) & 0x030C30C3;
    v = (v | v >> 4) & 0x0300F00F;
    v = (v | v >> 8) & 0x030000FF;
    return (v | v >> 16) & 0x3FF;
  }
  // A block of cells at (x, y, z), of cubes or a part of one.
  void mark(uint64_t cells, int64_t x, int64_t y, int64_t z, int64_t cube) {
    if (cube > 2) {
      const int64_t blocks = cube / 4;
      rows[size_t(z / blocks * edge + y / blocks)] |= uint64_t(1) << (x / blocks);
      return;
    }
    // A byte is a cube. Its highest bit in `any` tells whether one of its bits is set.
    constexpr uint64_t low = 0x7F7F7F7F7F7F7F7F;
    const uint64_t any = ((cells & low) + low) | cells;
    for (int64_t k = 0; k < 4; ++k) {
      const uint64_t pair = (any >> (16 * k + 7) & 1) | (any >> (16 * k + 14) & 2);
      rows[size_t((2 * z + k / 2) * edge + 2 * y + k % 2)] |= pair << (2 * x);
    }
  }
  // To the neighbors along an axis on which rows `stride` apart are neighbors.
  void spread_rows(int64_t stride) {
    const std::vector<uint64_t> before = rows;
    for (int64_t begin = 0; begin < edge * edge; begin += edge * stride)
      for (int64_t i = begin; i < begin + edge * stride; ++i) {
        if (i - stride >= begin) rows[size_t(i)] |= before[size_t(i - stride)];
        if (i + stride < begin + edge * stride) rows[size_t(i)] |= before[size_t(i + stride)];
      }
  }
};

/// Returns which of the parts with middles at distances t have a mark.
HWY_INLINE hn::Mask<D> marked(const Marks& marks, const Path& path, V t) {
  const D d;
  const DI di;
  const DU du;
  hn::Vec<DI> at[3];
  for (int axis = 0; axis < 3; ++axis) {
    const V position = hn::MulAdd(t, hn::Set(d, path.dir[axis]), hn::Set(d, path.o[axis]));
    const auto cube = hn::ConvertTo(di, hn::Mul(position, hn::Set(d, float(marks.edge))));
    at[axis] = hn::Min(hn::Max(cube, hn::Zero(di)), hn::Set(di, int32_t(marks.edge) - 1));
  }
  const auto row = hn::Add(hn::Mul(at[2], hn::Set(di, int32_t(marks.edge))), at[1]);
  const auto half_row = hn::Add(hn::ShiftLeft<1>(row), hn::ShiftRight<5>(at[0]));
  const auto bits = hn::GatherIndex(di, reinterpret_cast<const int32_t*>(marks.rows.data()), half_row);
  const VU asked = hn::Shl(hn::Set(du, 1U), hn::And(hn::BitCast(du, at[0]), hn::Set(du, 31U)));
  return hn::RebindMask(d, hn::Ne(hn::And(hn::BitCast(du, bits), asked), hn::Zero(du)));
}

/// Marches one ray whose candidates are a lattice.
HWY_INLINE int64_t march_marked(const March::Args<float>& x, const Grid& grid, const Marks& marks,
                                const Path& path, float* t_out) {
  const D d;
  const DI di;
  const float step = x.steps[1];
  const V to_middle = hn::Set(d, 0.5F * float(marks.part - 1) * step);
  const auto of_lane = hn::IndicesFromVec(di, hn::Load(di, marks.of_lane));
  const auto offset = hn::Load(di, marks.in_part);
  HWY_ALIGN int32_t listed[kListed + 2 * kLanes];  // first candidates of parts
  int64_t count = 0, k = 0;
  bool more = true;
  do {
    int64_t n = 0;
    for (; more && n < kListed; k += kLanes * marks.part) {
      const auto index = lattice_index(k, marks.part);
      const V t = on_lattice(path.first, step, index);
      const auto before_the_end = hn::Lt(t, hn::Set(d, path.span.leave));
      const auto worth = hn::And(before_the_end, marked(marks, path, hn::Add(t, to_middle)));
      hn::StoreU(compact(di, index, hn::RebindMask(di, worth)), di, listed + n);
      n += int64_t(hn::CountTrue(d, worth));
      more = hn::AllTrue(d, before_the_end);
    }
    hn::StoreU(hn::Set(di, 1 << 30), di, listed + n);  // far behind any end, where a vector has lanes left
    for (int64_t i = 0; i < n && count < x.shape.max_samples; i += kLanes / marks.part) {
      const auto index = hn::Add(hn::TableLookupLanes(hn::LoadU(di, listed + i), of_lane), offset);
      is_occupied(x, grid, path, on_lattice(path.first, step, index), t_out, count);
    }
  } while (more && count < x.shape.max_samples);
  return std::min(count, x.shape.max_samples);
}

void march_all(const March::Args<float>& x, const int32_t* words) {
  const March::Shape& s = x.shape;
  const Grid grid{words, s.grid, s.cascades};
  Marks marks;
  // Marking reads the grid once and costs a few instructions per block; marching a ray costs some thousand.
  if (s.cascades == 1 && x.steps[3] == 0 && s.grid * s.grid * s.grid <= 1024 * s.rays)
    marks.make(words, s.grid, x.steps[1] * float(s.grid));
  march_rays(x, [&](int64_t ray, float* t_out) HWY_ATTR {
    const Path path(x, ray);
    if (path.empty()) return int64_t(0);
    return marks.edge != 0 ? march_marked(x, grid, marks, path, t_out)
                           : march_vector_by_vector(x, grid, path, t_out);
  });
}

KLAB_SIMD_ONCE(march_all);

#if HWY_ONCE
void run(const RayMarch::Args<float>& x) {
  const GridWords words(x);
  HWY_DYNAMIC_DISPATCH(march_all)(x, words.data());
}

KLAB_VARIANT(RayMarch, {.run = run,
                        .parent = "06_coarse_bits",
                        .tiles = {4, 16, 64, 256},
                        .expect = {.shape = {10752, 128, 1, 384, 1 << 20}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
