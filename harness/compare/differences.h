// Names everything besides a time in which two recorded runs differ: machine, build, load, contract, how it was measured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/records/rows.h"

namespace klab {

/// Returns one line for each kind of difference between rows of the same variant, shape, threads and cache state, with the
/// variants that it concerns, and for each difference between the runs as a whole. Numbers that scatter from run to run
/// are named only where they differ by more than they usually do.
std::vector<std::string> differences_of(const Recording& base, const Recording& fresh);

/// How compare_runs() treats a column of a file of rows.
enum class Treatment {
  key,      // rows are matched by it
  judged,   // the verdict is about it
  named,    // differences_of() names a difference
  follows,  // is computed from other columns, or a property of the code that is compared
};

/// Returns the treatment of a column. Throws std::out_of_range for an unknown one, so that a new column cannot be
/// forgotten here.
Treatment treatment_of(std::string_view column);

}  // namespace klab
