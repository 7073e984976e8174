// The report: one HTML file about recorded runs, with nothing outside it; the same as Markdown and as CSV.
//
// It shows what rows say and measures nothing itself.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/comparison.h"
#include "harness/records/rows.h"

namespace klab {

struct ReportInput {
  Recording run;
  nlohmann::json machine;   // as machine.h writes it, or null
  nlohmann::json ceilings;  // as ceilings.h writes them, or null
  std::optional<CompareResult> comparison;
  std::string baseline;            // its name
  std::vector<std::string> train;  // folders of training runs
  bool all = false;                // every branch at every size, not only where it pays
};

/// Throws std::runtime_error when a training folder holds no result.json, or a broken one.
std::string report_html(const ReportInput& input);
std::string report_markdown(const ReportInput& input);

/// A Markdown table with one line an op: its fastest rung at the size that the tour shows, or else the largest.
std::string report_summary(const ReportInput& input);

/// One line a variant and size, for a spreadsheet: fewer columns than the rows, and numbers ready to plot.
std::string report_csv(const ReportInput& input);

/// Rows of several sessions become one: medians over the sessions, with their interval.
Recording merged_sessions(const Recording& run);

}  // namespace klab
