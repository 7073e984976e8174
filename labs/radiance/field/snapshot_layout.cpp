#include "labs/radiance/field/snapshot_layout.h"

#include <algorithm>
#include <cmath>

namespace klab {
namespace {

int64_t multiple(int64_t n, int64_t of) { return (n + of - 1) / of * of; }

}  // namespace

std::vector<SnapshotLevel> snapshot_levels(int64_t levels, int64_t log2_table, int64_t base, float growth) {
  const float exponent = std::log2(growth);
  const int64_t most = int64_t(1) << log2_table;
  std::vector<SnapshotLevel> list;
  for (int64_t l = 0; l < levels; ++l) {
    SnapshotLevel level;
    level.scale = std::exp2(float(l) * exponent) * float(base) - 1.0F;
    level.resolution = int64_t(std::ceil(std::min(level.scale, 0x1p30F))) + 1;
    // Beyond a million points along an edge no table holds all.
    const int64_t edge = std::min(level.resolution, int64_t(1) << 20), points = edge * edge * edge;
    level.dense = points <= most;
    level.entries = std::min(multiple(points, 8), most);
    list.push_back(level);
  }
  return list;
}

int64_t SnapshotLayout::entries() const {
  int64_t sum = 0;
  for (const SnapshotLevel& level : levels) sum += level.entries;
  return sum;
}

SnapshotLayout snapshot_layout(const Config& c, std::vector<SnapshotLevel> levels, int64_t density_width,
                               int64_t color_width, const SnapshotPadding& padding) {
  SnapshotLayout out;
  out.density = {.n = 0,
                 .in = multiple(c.levels * c.features, padding.encoding),
                 .width = density_width,
                 .hidden = c.density_hidden,
                 .out = multiple(c.geometry_features, padding.density),
                 .logistic = 0};
  const int64_t direction = multiple(direction_features(c), padding.color);
  out.color = {.n = 0,
               .in = multiple(direction + out.density.out, padding.color),
               .width = color_width,
               .hidden = c.color_hidden,
               .out = multiple(3, padding.color),
               .logistic = 0};
  out.levels = std::move(levels);
  out.features = c.features;
  return out;
}

}  // namespace klab
