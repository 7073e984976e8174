// cell_distance.cpu.03_rows: four rows of neighbors at a time, in vectors.
//
// CHANGE    of the 13 neighbors twelve lie in four rows of the grid that are complete. Their minimum is taken for as many
//           columns as a vector has bytes, then that of three columns. Only the neighbor in the cell's own row waits for the
//           cell before it, and that is one addition and one comparison.
// EXPECT    a few instructions for 16 to 64 cells, and two a cell for the own row: at least 5 times the parent.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/cell_distance/cell_distance.h"

KLAB_SIMD_BEGIN();

using Tag = hn::ScalableTag<uint8_t>;

/// Lowers `row` to one more than the nearest of each column and its two neighbors in the given rows. `least` has room for the
/// columns, one more on each side that stays at 255, and a vector.
void ask_rows(uint8_t* row, int64_t grid, const uint8_t* const* rows, int count, uint8_t* least) {
  const Tag d;
  const auto lanes = int64_t(hn::Lanes(d));
  const auto load = [&](const uint8_t* p, int64_t left) HWY_ATTR {
    if (left >= lanes) return hn::LoadU(d, p);
    HWY_ALIGN uint8_t some[HWY_MAX_BYTES];
    std::fill_n(some, lanes, uint8_t{255});
    std::copy_n(p, left, some);
    return hn::Load(d, some);
  };
  for (int64_t c = 0; c < grid; c += lanes) {
    auto nearest = hn::Set(d, uint8_t{255});
    for (int r = 0; r < count; ++r) nearest = hn::Min(nearest, load(rows[r] + c, grid - c));
    hn::StoreU(nearest, d, least + 1 + c);
  }
  least[1 + grid] = 255;
  const auto one = hn::Set(d, uint8_t{1});
  HWY_ALIGN uint8_t some[HWY_MAX_BYTES];
  for (int64_t c = 0; c < grid; c += lanes) {
    const auto three =
        hn::Min(hn::Min(hn::LoadU(d, least + c), hn::LoadU(d, least + c + 2)), hn::LoadU(d, least + c + 1));
    const auto lower = hn::Min(load(row + c, grid - c), hn::SaturatedAdd(three, one));
    hn::Store(lower, d, some);
    std::copy_n(some, std::min(lanes, grid - c), row + c);
  }
}

/// One pass over all rows, forward (`way` -1: neighbors before a cell) or backward (1).
void pass_over(uint8_t* distance, int64_t grid, int64_t way) {
  std::vector<uint8_t> least(size_t(grid + 2 + 2 * HWY_MAX_BYTES), uint8_t{255});
  for (int64_t i = 0; i < grid * grid; ++i) {
    const int64_t at = way < 0 ? i : grid * grid - 1 - i, y = at % grid, z = at / grid;
    const uint8_t* rows[4];
    int count = 0;
    const auto take = [&](int64_t dy, int64_t dz) {
      if (y + dy >= 0 && y + dy < grid && z + dz >= 0 && z + dz < grid)
        rows[count++] = distance + ((z + dz) * grid + y + dy) * grid;
    };
    take(way, 0);
    for (int64_t dy = -1; dy <= 1; ++dy) take(dy, way);
    uint8_t* row = distance + at * grid;
    ask_rows(row, grid, rows, count, least.data());
    for (int64_t k = 1; k < grid; ++k) {
      const int64_t c = way < 0 ? k : grid - 1 - k;
      row[c] = uint8_t(std::min(int(row[c]), 1 + int(row[c + way])));
    }
  }
}

KLAB_SIMD_ONCE(pass_over);

#if HWY_ONCE
using Distance = CellDistance;

#include "kernels/cell_distance/cpu/01_naive-inl.h"

void run(const Distance::Args<float>& x) {
  mark_cells(x);
  for (const int64_t way : {-1, 1}) HWY_DYNAMIC_DISPATCH(pass_over)(x.distance, x.shape.grid, way);
}

KLAB_VARIANT(CellDistance, {.run = run,
                            .parent = "02_two_passes",
                            .tiles = {16, 64},
                            .expect = {.shape = {64}, .over_parent = 5}});
KLAB_SIMD_CLOSE();
#endif
