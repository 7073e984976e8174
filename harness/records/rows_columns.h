// The columns of a file of rows: one list for both writing and reading.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/records/rows.h"

namespace klab::rows_csv {

/// Thrown for an invalid cell; the caller adds file, line and column.
struct CellError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The cells of a line before their consistency is checked.
struct Line {
  Row row;
  int64_t index = 0, count = 0, rounds = 0;
  bool complete = true;
  Estimate over_naive, over_parent, over_peer, of_ceiling;  // value 0: absent
};

struct Column {
  const char* name;
  std::function<std::string(const Line&)> write;
  std::function<void(Line&, const std::string&)> read;
  /// Files of earlier versions may lack it. Rows then hold less, but nothing wrong.
  bool optional = false;
  const char* was = nullptr;  // its name in files of earlier versions, which can still be read
};

inline constexpr size_t kColumns = 54;

/// Returns kColumns columns, in file order.
const std::vector<Column>& columns();

}  // namespace klab::rows_csv
