// 256 values that are near to many numbers, and rows that many others share.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace klab {

/// Numbers as bytes: each is the place of the nearest of 256 values.
struct Codebook {
  std::array<float, 256> values{};  // ascending

  /// Chooses values with a small squared error, by Lloyd's iteration from a start between quantiles and equal steps. Up to 256
  /// different numbers are all kept. Throws std::invalid_argument for no numbers.
  static Codebook of(std::vector<float> numbers);
  uint8_t nearest(float number) const;
};

/// Rows of a table, put together in groups of near ones.
struct RowGroups {
  int64_t count = 0;           // of groups
  std::vector<int32_t> group;  // [rows]
  std::vector<float> means;    // [count, columns]
};

/// Splits the rows [rows, columns] of a table in halves along the column that varies most, until there are `most` groups. With no more
/// rows than that each is a group of its own, in order.
RowGroups grouped_rows(std::span<const float> table, int64_t columns, int64_t most);

}  // namespace klab
