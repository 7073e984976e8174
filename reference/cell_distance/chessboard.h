// Chessboard distances from cells marked with 0, in place; shared by cell_distance and by inputs drawn for baked_rays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace klab {

/// Replaces the numbers of cells, [grid,grid,grid] with 0 where something is and 255 elsewhere, by their distances. One axis
/// after the other: out(i) = min over j of max(|i - j|, in(j)), found outwards from i. No j that is as far away as the best
/// so far can be better, and nothing is better than the least number of the line.
inline void spread_chessboard(std::vector<uint8_t>& cells, int64_t grid) {
  std::vector<uint8_t> line(static_cast<size_t>(grid));
  for (const int64_t stride : {int64_t{1}, grid, grid * grid})
    for (int64_t begin = 0; begin < grid * grid * grid; ++begin) {
      if (begin / stride % grid != 0) continue;
      for (int64_t i = 0; i < grid; ++i) line[size_t(i)] = cells[size_t(begin + i * stride)];
      const int64_t least = *std::min_element(line.begin(), line.end());
      for (int64_t i = 0; i < grid; ++i) {
        int64_t best = line[size_t(i)];
        const int64_t ends = std::max(i, grid - 1 - i);
        for (int64_t away = 1; away < best && best > least && away <= ends; ++away)
          for (const int64_t j : {i - away, i + away})
            if (j >= 0 && j < grid) best = std::min(best, std::max<int64_t>(away, line[size_t(j)]));
        cells[size_t(begin + i * stride)] = uint8_t(best);
      }
    }
}

}  // namespace klab
