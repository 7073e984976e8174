// The report: one self-contained HTML file about recorded runs. The same is available as Markdown and as CSV.
//
// It presents rows and measures nothing itself.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/comparison.h"
#include "harness/records/claim_record.h"
#include "harness/records/rows.h"
#include "harness/report/side_by_side.h"

namespace klab {

struct ReportInput {
  Recording run;
  nlohmann::json machine;   // as machine.h writes it, or null
  nlohmann::json ceilings;  // as ceilings.h writes them, or null
  std::optional<CompareResult> comparison;
  std::string baseline;            // name of the baseline
  std::vector<std::string> train;  // folders of training runs
  bool all = false;                // show every branch at every size, not only where it pays
  std::vector<NamedRun> runs;      // side by side, next to `run` or alone
  std::vector<ClaimEntry> claims;  // decided ones, shown below the labs
  std::string title;               // empty: "klab report"
  std::string made;                // by which command and when
};

/// Throws std::runtime_error if a training folder has no result.json, or a broken one. If a folder is given for figures,
/// each is written there as SVG and its numbers as CSV; `written` receives their number.
std::string report_html(const ReportInput& input, const std::filesystem::path& figures = {},
                        size_t* written = nullptr);
std::string report_markdown(const ReportInput& input);
/// Returns a table of LaTeX for each ladder.
std::string report_latex(const ReportInput& input);

/// Returns a Markdown table with one line per op: its fastest rung at the size that the tour shows, or else
/// at the largest.
std::string report_summary(const ReportInput& input);

/// Returns one line per variant and size, for a spreadsheet: fewer columns than the rows, with numbers ready
/// to plot.
std::string report_csv(const ReportInput& input);

/// Merges rows of several sessions: medians over the sessions, with their interval.
Recording merged_sessions(const Recording& run);

}  // namespace klab
