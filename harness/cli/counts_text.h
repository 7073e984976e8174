// Counts of CUDA rungs as people read them, where there is no GPU to time them on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/records/rows.h"

namespace klab {

/// One count as the table prints it.
struct PrintedCount {
  std::string title;  // of its column: "loads", "sectors/request"
  std::string name;   // where it stands alone: "load sectors/request"
  std::string text;   // "" where the rung has no such access
  double value = 0;   // of what is printed, so 0 for ""
};

/// All columns of the table, in order, of a row that holds counts.
std::vector<PrintedCount> printed_counts(const Row& row);

/// The printed count that fell furthest against the parent's row.
struct FewerCount {
  std::string name;
  double ratio = 1;  // to the parent's, below 1
};

/// Nothing where no printed count is lower.
std::optional<FewerCount> fewer_than(const Row& row, const Row& parent);

/// A table of the rows that hold counts, with what is to be said of them beside their shape; "" when there are none. Columns
/// that are empty for all of them are left out; the last one says of each rung which count fell furthest against its parent.
std::string counts_text(
    const std::vector<Row>& rows,
    const std::string& remark = "no GPU here: counted, not timed; klab trace VARIANT shows where");

}  // namespace klab
