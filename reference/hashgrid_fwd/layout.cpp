#include "reference/hashgrid_fwd/layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

namespace klab {
namespace {

constexpr int64_t kFinestAllowed = int64_t(1) << 20;  // a position then still has bits left for the fraction

void require(bool fine, const std::string& what) {
  if (!fine) throw std::invalid_argument("hash encoding: " + what);
}

}  // namespace

double hashgrid_growth(int64_t levels, int64_t base, int64_t finest) {
  if (levels < 2) return 1;
  return std::exp(std::log(double(finest) / double(base)) / double(levels - 1));
}

std::vector<HashgridLevel> hashgrid_levels(int64_t dim, int64_t levels, int64_t log2_table, int64_t base,
                                           double growth) {
  require(dim == 2 || dim == 3, "dim is " + std::to_string(dim) + ", must be 2 or 3");
  require(levels >= 1, "levels is " + std::to_string(levels) + ", must be at least 1");
  require(log2_table >= 1 && log2_table <= 28,
          "log2_table is " + std::to_string(log2_table) + ", must be from 1 to 28");
  require(base >= 1, "base is " + std::to_string(base) + ", must be at least 1");
  require(growth >= 1, "growth is " + std::to_string(growth) + ", must be at least 1");
  std::vector<HashgridLevel> list;
  int64_t offset = 0;
  for (int64_t l = 0; l < levels; ++l) {
    HashgridLevel level;
    const double scale = double(base) * std::pow(growth, double(l)) - 1;
    require(scale <= double(kFinestAllowed),
            "level " + std::to_string(l) + " is finer than 2^20 points an axis");
    // Rounded to float before the ceiling: 16*b^15 - 1 in double is 2047.0000000000002 for some b, and its
    // ceiling a point too many.
    level.scale = float(scale);
    level.resolution = int64_t(std::ceil(level.scale)) + 1;
    int64_t points = 1;
    for (int64_t d = 0; d < dim; ++d) points *= level.resolution;
    const int64_t limit = int64_t(1) << log2_table;
    level.dense = points <= limit;
    level.entries = std::min((points + 7) / 8 * 8, limit);
    level.mask = level.dense ? 0 : uint32_t(limit - 1);
    level.offset = offset;
    offset += level.entries;
    list.push_back(level);
  }
  return list;
}

int64_t hashgrid_entries(const std::vector<HashgridLevel>& levels) {
  return levels.empty() ? 0 : levels.back().offset + levels.back().entries;
}

int64_t hashgrid_index(const HashgridLevel& level, int64_t dim, const int64_t* corner) {
  if (level.dense) {
    int64_t index = 0;
    for (int64_t d = dim; d-- > 0;) index = index * level.resolution + corner[d];
    return index % level.entries;
  }
  uint32_t hash = 0;
  for (int64_t d = 0; d < dim; ++d) hash ^= uint32_t(corner[d]) * kHashgridPrimes[d];
  return int64_t(hash & level.mask);
}

HashgridUse hashgrid_use(const HashgridLevel& level, int64_t dim, int64_t n, const float* positions) {
  std::vector<std::array<int64_t, 3>> points;
  points.reserve(size_t(n << dim));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < int64_t(1) << dim; ++c) {
      std::array<int64_t, 3> corner{};
      for (int64_t d = 0; d < dim; ++d)
        corner[size_t(d)] =
            int64_t(std::floor(double(positions[d * n + i]) * level.scale + 0.5)) + (c >> d & 1);
      points.push_back(corner);
    }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());

  std::vector<int64_t> entries;
  entries.reserve(points.size());
  for (const auto& corner : points) entries.push_back(hashgrid_index(level, dim, corner.data()));
  std::sort(entries.begin(), entries.end());

  HashgridUse use{.points = int64_t(points.size())};
  int64_t alone = 0;
  for (size_t i = 0; i < entries.size();) {
    size_t end = i;
    while (end < entries.size() && entries[end] == entries[i]) ++end;
    ++use.entries;
    if (end - i == 1) ++alone;
    i = end;
  }
  if (use.points > 0) use.alone = double(alone) / double(use.points);
  return use;
}

}  // namespace klab
