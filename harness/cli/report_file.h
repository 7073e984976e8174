// Writing a report, and what it needs beside the rows.
#pragma once

#include <string>
#include <vector>

#include "harness/report/report.h"

namespace klab {

/// Fills machine and ceilings from what lies beside the rows (rows.json, machine.json), or from this machine where the
/// rows are its own. Leaves them null where nothing is known.
void find_records(ReportInput& input, const std::vector<std::string>& row_names);

/// Throws std::invalid_argument naming a row that is there twice.
void refuse_rows_twice(const Recording& run);

/// The report of a run that was just measured here, in the working folder or, where nothing can be written there, in
/// the temporary one. Returns its path; empty when there is nothing to show or no place to write to.
std::string write_tour_report(const Recording& run);

}  // namespace klab
