// Formats counts of CUDA rungs when there is no GPU to time them on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/records/rows.h"

namespace klab {

/// One count as printed in the table.
struct PrintedCount {
  std::string title;  // column title: "loads", "sectors/request"
  std::string name;   // full name outside the table: "load sectors/request"
  std::string text;   // "" if the rung has no such access
  double value = 0;   // value as printed, so 0 for ""
};

/// Returns all columns of the table, in order, for a row that holds counts.
std::vector<PrintedCount> printed_counts(const Row& row);

/// The printed count that decreased most relative to the parent's row.
struct FewerCount {
  std::string name;
  double ratio = 1;  // relative to the parent's, below 1
};

/// Returns an empty value if no printed count is lower.
std::optional<FewerCount> fewer_than(const Row& row, const Row& parent);

/// Returns a table of the rows that hold counts, with `remark` next to their shape; "" if there are none.
/// Columns that are empty for all rows are left out. The last column names the count of each rung that
/// decreased most relative to its parent.
std::string counts_text(
    const std::vector<Row>& rows,
    const std::string& remark = "no GPU here: counted, not timed; klab trace VARIANT shows where");

}  // namespace klab
