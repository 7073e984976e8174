// Where occupancy_choose turns: cells never evaluated, words next to a threshold, shares above one.
#include <algorithm>
#include <cmath>

#include "reference/boundaries.h"
#include "reference/dropout_fwd/philox.h"
#include "reference/occupancy_choose/occupancy_choose.h"

namespace klab {
namespace {

using Args = OccupancyChoose::Args<double>;
using Drawn = OccupancyChoose::Args<float>;

/// Returns the random word of a cell.
template <class AnyArgs>
uint32_t word_of(const AnyArgs& a, int64_t cell) {
  const auto at = uint64_t(a.shape.first + cell), block = at / 4;
  return dropout::random_words({uint32_t(block), 3U << 16 | uint32_t(block >> 32), a.step[0], a.step[1]},
                               {a.seed[0], a.seed[1]})[size_t(at % 4)];
}

/// Calls visit(word, whether the cell is occupied, thresholds) for each cell that its word decides.
void each_word(const Args& a, auto&& visit) {
  const auto limits = OccupancyChoose::thresholds(float(*a.share), a.shape.grid_cells, *a.occupied);
  for (int64_t c = 0; a.shape.all == 0 && c < a.shape.cells; ++c)
    if (a.values[c] >= 0) visit(word_of(a, c), (a.bits[c / 8] >> (c % 8) & 1) != 0, limits);
}

/// Makes a cell one that was evaluated, and occupied or not.
void evaluate(const Drawn& x, int64_t cell, bool occupied) {
  drawn(x.values[cell]) = 1;
  uint8_t& bits = drawn(x.bits[cell / 8]);
  bits = uint8_t(occupied ? bits | 1U << cell % 8 : bits & ~(1U << cell % 8));
}

const Boundary<OccupancyChoose> kEvaluated("cell was evaluated", {"values"}, {"x.values[c] >= 0"},
                                           kThreeSides, [](const auto& a, Sides& met) {
                                             for (int64_t c = 0; c < a.shape.cells; ++c)
                                               met.compare(a.values[c], 0);
                                           });
const Boundary<OccupancyChoose> kMinusZero("-0", {"values"}, {}, kHolds, [](const auto& a, Sides& met) {
  for (int64_t c = 0; c < a.shape.cells; ++c)
    if (a.values[c] == 0 && std::signbit(a.values[c])) met.holds(true);
});
const Boundary<OccupancyChoose> kAny(
    "word and threshold of all cells", {"share", "seed"}, {"(w >> 16) < limits.any"}, kThreeSides,
    [](const auto& a, Sides& met) {
      each_word(a, [&](uint32_t w, bool, const OccupancyChoose::Thresholds& limits) {
        met.compare(w >> 16, limits.any);
      });
    },
    [](const auto& x, Generator& random) {
      if (x.shape.all != 0 || x.shape.cells == 0) return;
      const auto cell = int64_t(random() % uint64_t(x.shape.cells));
      drawn(*x.share) = (float(word_of(x, cell) >> 16) + 0.5F) / 65536;
      evaluate(x, cell, false);
    });
const Boundary<OccupancyChoose> kOccupied(
    "word and threshold of occupied cells", {"share", "seed", "bits", "occupied"},
    {"(w & 0xFFFF) < limits.occupied"}, kThreeSides,
    [](const auto& a, Sides& met) {
      each_word(a, [&](uint32_t w, bool occupied, const OccupancyChoose::Thresholds& limits) {
        if (occupied && w >> 16 >= limits.any) met.compare(w & 0xFFFF, limits.occupied);
      });
    },
    [](const auto& x, Generator&) {
      // Where few cells are occupied, a small share reaches any threshold, and few cells are chosen by the other one.
      drawn(*x.occupied) = int32_t(std::max<int64_t>(1, x.shape.grid_cells / 64));
      for (int64_t c = 0; x.shape.all == 0 && c < x.shape.cells; ++c) {
        const uint32_t w = word_of(x, c);
        const float share =
            (float(w & 0xFFFF) + 0.5F) / 65536 * float(*x.occupied) / float(x.shape.grid_cells);
        const auto limits = OccupancyChoose::thresholds(share, x.shape.grid_cells, *x.occupied);
        if (limits.occupied != (w & 0xFFFF) || w >> 16 < limits.any) continue;
        drawn(*x.share) = share;
        evaluate(x, c, true);
        return;
      }
    });
/// The threshold of occupied cells as arithmetic in float gets it, which the contract does not allow.
uint32_t threshold_in_float(float share, int64_t grid_cells, int32_t occupied) {
  const float want = share * float(grid_cells) / float(occupied > 0 ? occupied : 1);
  return uint32_t((want < 1 ? want : 1) * 65536);
}

const Boundary<OccupancyChoose> kNearWhole(
    "threshold of occupied cells that a float rounds up", {"share", "occupied", "grid_cells"}, {}, kHolds,
    [](const auto& a, Sides& met) {
      const auto in_float = threshold_in_float(float(*a.share), a.shape.grid_cells, *a.occupied);
      each_word(a, [&](uint32_t w, bool occupied, const OccupancyChoose::Thresholds& limits) {
        if (occupied && w >> 16 >= limits.any && (w & 0xFFFF) == limits.occupied &&
            in_float > limits.occupied)
          met.holds(true);
      });
    },
    [](const auto& x, Generator& random) {
      const int64_t grid = x.shape.grid_cells;
      for (int64_t c = 0; x.shape.all == 0 && c < x.shape.cells; ++c) {
        const uint32_t w = word_of(x, c), low = w & 0xFFFF;
        for (int tried = 0; tried < 16; ++tried) {
          const auto occupied = int32_t(1 + random() % uint64_t(std::max<int64_t>(1, grid / 16)));
          // The largest share below the next threshold.
          float share = float(double(low + 1) / 65536 * double(occupied) / double(grid));
          if (OccupancyChoose::thresholds(share, grid, occupied).occupied > low)
            share = std::nextafter(share, 0.0F);
          const auto limits = OccupancyChoose::thresholds(share, grid, occupied);
          if (limits.occupied != low || w >> 16 < limits.any ||
              threshold_in_float(share, grid, occupied) <= low)
            continue;
          drawn(*x.share) = share;
          drawn(*x.occupied) = occupied;
          evaluate(x, c, true);
          return;
        }
      }
    });
const Boundary<OccupancyChoose> kBit(
    "cell is occupied", {"bits"}, {}, kEither, [](const auto& a, Sides& met) {
      each_word(a, [&](uint32_t, bool occupied, const OccupancyChoose::Thresholds&) { met.holds(occupied); });
    });
const Boundary<OccupancyChoose> kCount(
    "occupied cells of the grid", {"occupied"}, {"occupied > 0 ?"}, kOn | kAbove,
    [](const auto& a, Sides& met) { met.compare(*a.occupied, 0); },
    [](const auto& x, Generator&) { drawn(*x.occupied) = 0; });
const Boundary<OccupancyChoose> kWant(
    "share of occupied cells", {"share", "occupied", "grid_cells"}, {"want < 1 ?"}, kThreeSides,
    [](const auto& a, Sides& met) {
      met.compare(*a.share * double(a.shape.grid_cells) / double(*a.occupied > 0 ? *a.occupied : 1), 1);
    },
    [](const auto& x, Generator&) {
      if (x.shape.grid_cells % 2 != 0) return;
      drawn(*x.share) = 0.5F;
      drawn(*x.occupied) = int32_t(x.shape.grid_cells / 2);
    });
const Boundary<OccupancyChoose> kAll("all cells are chosen", {"all"}, {}, kEither,
                                     [](const auto& a, Sides& met) { met.holds(a.shape.all != 0); });
const CounterWords<OccupancyChoose, &Args::seed> kSeed("seed", kHolds);
const CounterWords<OccupancyChoose, &Args::step> kStep("step");
const NoBoundary<OccupancyChoose> kRest(
    {{"c % 8", "an index: sizes draw every remainder"},
     {"at % 4", "an index: sizes draw every remainder"},
     {"c) % 4", "an index: sizes draw every remainder"},
     {", -1)", "entries after the last chosen cell, of which all shapes have some"}});

}  // namespace
}  // namespace klab
