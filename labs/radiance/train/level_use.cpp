#include "labs/radiance/train/level_use.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace klab {

LevelUse level_use(const TableLevel& level, int64_t hash, int64_t blend, const float* positions,
                   int64_t stride, int64_t n) {
  const int corners = blend == table_blend::nearest ? 1 : 8;
  std::vector<std::array<uint32_t, 3>> points;
  points.reserve(size_t(n * corners));
  for (int64_t i = 0; i < n; ++i)
    for (int c = 0; c < corners; ++c) {
      std::array<uint32_t, 3> corner{};
      for (int d = 0; d < 3; ++d)
        corner[size_t(d)] =
            uint32_t(std::floor(double(positions[d * stride + i]) * double(level.scale) + 0.5)) +
            uint32_t(c >> d & 1);
      points.push_back(corner);
    }
  std::ranges::sort(points);
  points.erase(std::ranges::unique(points).begin(), points.end());
  std::vector<uint32_t> entries;
  entries.reserve(points.size());
  for (const auto& p : points) entries.push_back(table_index(level, hash, p[0], p[1], p[2]));
  std::ranges::sort(entries);
  LevelUse use{.points_per_axis = level.points, .entries = level.entries, .points = int64_t(points.size())};
  int64_t alone = 0;
  for (size_t begin = 0; begin < entries.size();) {
    size_t end = begin;
    while (end < entries.size() && entries[end] == entries[begin]) ++end;
    ++use.touched;
    alone += end - begin == 1;
    begin = end;
  }
  if (use.points > 0) use.alone = double(alone) / double(use.points);
  return use;
}

}  // namespace klab
