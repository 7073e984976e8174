#include "reference/cell_distance/cell_distance.h"

#include <cmath>

#include "reference/cell_distance/chessboard.h"
#include "reference/generator.h"

namespace klab {
namespace {

// Sets blobs of cells: whole bytes are neighbors on the Morton curve, and so are runs of bytes.
void strew(const CellDistance::Args<float>& x, Generator& random) {
  const int64_t bytes = x.shape.cells() / 8;
  auto* bits = const_cast<uint8_t*>(x.occupancy);
  const uint64_t solid = random.widely ? random() % 4 : 1;  // of 64
  for (int64_t b = 0; b < bytes;) {
    const int64_t run = std::min<int64_t>(bytes - b, 1 + int64_t(random() % 64));
    const bool full = random() % 64 < solid;
    for (int64_t i = 0; i < run; ++i) bits[b + i] = full ? uint8_t(random() & random()) : uint8_t(0);
    b += run;
  }
}

// Sets a surface in empty air, as training leaves it: a hollow ball two cells thick.
void place_ball(const CellDistance::Args<float>& x, Generator& random) {
  const int64_t grid = x.shape.grid;
  auto* bits = const_cast<uint8_t*>(x.occupancy);
  std::fill_n(bits, x.shape.cells() / 8, uint8_t(0));
  const double middle = 0.5 * double(grid - 1),
               outer = (0.2 + 0.2 * std::uniform_real_distribution<double>()(random)) * double(grid);
  for (int64_t z = 0; z < grid; ++z)
    for (int64_t y = 0; y < grid; ++y)
      for (int64_t column = 0; column < grid; ++column) {
        const double away = std::hypot(double(column) - middle, double(y) - middle, double(z) - middle);
        if (away >= outer || away < outer - 2) continue;
        const uint32_t bit = CellDistance::morton(uint32_t(column), uint32_t(y), uint32_t(z));
        bits[bit / 8] = uint8_t(bits[bit / 8] | 1U << (bit % 8));
      }
}

}  // namespace

void CellDistance::arrange(const Args<float>& x, Generator& random) {
  random.widely&& random() % 2 != 0 ? strew(x, random) : place_ball(x, random);
}

void CellDistance::reference(const Args<double>& x, const Args<double>&) {
  const int64_t grid = x.shape.grid;
  std::vector<uint8_t> cells(static_cast<size_t>(x.shape.cells()));
  for (int64_t z = 0; z < grid; ++z)
    for (int64_t y = 0; y < grid; ++y)
      for (int64_t column = 0; column < grid; ++column) {
        const uint32_t bit = morton(uint32_t(column), uint32_t(y), uint32_t(z));
        const bool occupied = (x.occupancy[bit / 8] >> (bit & 7U) & 1) != 0;
        cells[size_t((z * grid + y) * grid + column)] = uint8_t(occupied ? 0 : most);
      }
  spread_chessboard(cells, grid);
  std::copy(cells.begin(), cells.end(), x.distance);
}

}  // namespace klab
