// Where occupancy_bits turns: cells never evaluated, exploded cells, the limit itself.
#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/boundaries.h"
#include "reference/occupancy_bits/occupancy_bits.h"

namespace klab {
namespace {

using Args = OccupancyBits::Args<double>;
using Drawn = OccupancyBits::Args<float>;

/// Returns the mean of the cells that were evaluated, and their number.
std::pair<float, int64_t> mean_of(const Args& a) {
  const float scale = OccupancyBits::scale_of(a.shape.cells);
  int64_t sum = 0, seen = 0;
  for (int64_t c = 0; c < a.shape.cells; ++c)
    if (a.values[c] >= 0) sum += OccupancyBits::fixed(float(a.values[c]), scale), ++seen;
  return {seen > 0 ? float(double(sum) / double(scale) / double(seen)) : 0.0F, seen};
}

/// Gives an eighth of the cells values that boundaries concern, and at least one cell each of two.
void plant(const Drawn& x, Generator& random) {
  const float values[] = {0.0F, -0.0F, 1e4F, 1e6F};
  for (int64_t c = 0; c < x.shape.cells; ++c)
    if (random() % 8 == 0) drawn(x.values[c]) = values[random() % 4];
  if (x.shape.cells < 2) return;
  const auto cell = int64_t(random() % uint64_t(x.shape.cells - 1));
  drawn(x.values[cell]) = values[random() % 2];
  drawn(x.values[cell + 1]) = 1e4F;
}

const Boundary<OccupancyBits> kEvaluated(
    "cell was evaluated", {"values"}, {"x.values[c] >= 0"}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t c = 0; c < a.shape.cells; ++c) met.compare(a.values[c], 0);
    },
    [](const auto& x, Generator& random) { plant(x, random); });
const Boundary<OccupancyBits> kExploded(
    "value that counts for less", {"values"}, {"v < 1e4F ?"}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t c = 0; c < a.shape.cells; ++c) met.compare(a.values[c], 1e4);
    },
    [](const auto& x, Generator& random) { plant(x, random); });
const Boundary<OccupancyBits> kNone(
    "cells that were evaluated", {"values", "cells"}, {"seen > 0 ?"}, kOn | kAbove,
    [](const auto& a, Sides& met) {
      if (a.shape.cells > 0) met.compare(mean_of(a).second, 0);
    },
    [](const auto& x, Generator&) {
      for (int64_t c = 0; c < x.shape.cells; ++c) drawn(x.values[c]) = -1;
    });
const Boundary<OccupancyBits> kMean(
    "threshold and mean", {"values", "threshold"}, {"threshold < mean ?"}, kThreeSides,
    [](const auto& a, Sides& met) {
      if (const auto [mean, seen] = mean_of(a); seen > 0) met.compare(float(*a.threshold), mean);
    },
    [](const auto& x, Generator&) {
      for (int64_t c = 0; c < x.shape.cells; ++c) drawn(x.values[c]) = 0.25F;
      drawn(*x.threshold) = 0.25F;
    });
const Boundary<OccupancyBits> kParts(
    "values are whole in units of the sum", {"values"}, {}, kEither,
    [](const Args& a, Sides& met) {
      const float scale = OccupancyBits::scale_of(a.shape.cells);
      for (int64_t c = 0; c < a.shape.cells; ++c)
        if (a.values[c] >= 0 && a.values[c] < 1e4) met.holds(std::fmod(a.values[c] * scale, 1) == 0);
    },
    [](const Drawn& x, Generator&) {  // all alike: rounded down they are above their mean
      const float value = 5.7F / OccupancyBits::scale_of(x.shape.cells);
      for (int64_t c = 0; c < x.shape.cells; ++c) drawn(x.values[c]) = value;
    });
const Boundary<OccupancyBits> kLimit("value and limit", {"values", "threshold"}, {"> limit)"}, kThreeSides,
                                     [](const auto& a, Sides& met) {
                                       if (const auto [mean, seen] = mean_of(a); seen > 0)
                                         for (int64_t c = 0; c < a.shape.cells; ++c)
                                           met.compare(float(a.values[c]),
                                                       std::min(float(*a.threshold), mean));
                                     });

}  // namespace
}  // namespace klab
