// Writes a report, and finds its inputs other than rows.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/report/report.h"

namespace klab {

/// Sets machine and ceilings from files next to the rows (rows.json, machine.json), or from this machine if
/// the rows are its own. Leaves them null if nothing is known. Sets the claims on record.
void find_records(ReportInput& input, const std::vector<std::string>& row_names);

/// Returns the decided claims on record, each of the first machine that has it: one of `preferred`, or else any. Throws
/// ClaimRecordError.
std::vector<ClaimEntry> claims_on_record(const std::set<std::string>& preferred);

/// Returns "Claims on record: 41 held, 12 refuted, 9 depend: klab claims", or the reason why the record cannot be read. Empty if
/// there is no record.
std::string claims_line();

/// Throws std::invalid_argument that names a duplicate row.
void refuse_rows_twice(const Recording& run);

/// Writes the report of a run that was just measured here, to the working folder or, if that is not writable,
/// to the temporary folder. Returns its path; empty if there is nothing to show or no writable folder.
std::string write_tour_report(const Recording& run);

}  // namespace klab
