// The columns of a file of rows: one list that both writes and reads.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/records/rows.h"

namespace klab::rows_csv {

/// A cell that does not hold what it should; the caller adds file, line and column.
struct CellError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the cells of a line say before it is known to be consistent.
struct Line {
  Row row;
  int64_t index = 0, count = 0, rounds = 0;
  bool complete = true;
  Estimate over_naive, over_parent, over_peer, of_ceiling;  // value 0: not there
};

struct Column {
  const char* name;
  std::function<std::string(const Line&)> write;
  std::function<void(Line&, const std::string&)> read;
  /// Files of earlier versions may lack it: rows say less without it, and what they say stays right.
  bool optional = false;
  const char* was = nullptr;  // its name in files of earlier versions, which are still read
};

inline constexpr size_t kColumns = 54;

/// In the order of the file; kColumns of them.
const std::vector<Column>& columns();

}  // namespace klab::rows_csv
