// Several runs of the same rows side by side: a column for each, or a variant over commits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/records/rows.h"
#include "harness/report/plots.h"

namespace klab {

/// A run under the name that its column has.
struct NamedRun {
  std::string name;
  Recording run;
};

/// A row that at least one of the runs has.
struct RowOfRuns {
  std::string variant, size;
  std::vector<std::optional<double>> seconds;  // of each run; empty where it was not timed
  /// Returns how many times faster the last run is than the first; nothing unless both timed it.
  std::optional<double> factor() const;
};

struct SideBySide {
  std::vector<std::string> names;
  std::vector<RowOfRuns> rows;  // in the order of the first run that has them
};

/// Merges the sessions of each run. Runs of equal names get a number. Throws std::invalid_argument for fewer than two.
SideBySide side_by_side(const std::vector<NamedRun>& runs);

/// Returns the name of a run's column: its commit, shortened, if all rows have one; else `file`.
std::string name_of_run(const Recording& run, const std::string& file);

std::string side_by_side_html(const SideBySide& runs);
std::string side_by_side_markdown(const SideBySide& runs);
std::string side_by_side_csv(const SideBySide& runs);

/// Adds the times over the runs, each relative to its first; of the rows that moved most, if there are many. Returns
/// the plot's key.
std::string over_runs(const SideBySide& runs, Plots& plots);

}  // namespace klab
