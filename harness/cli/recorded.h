// Recorded runs by name: reports/recorded/<machine>/<name>.csv.
#pragma once

#include <filesystem>
#include <string>

#include "harness/cli/change_text.h"
#include "harness/records/rows.h"
#include "harness/records/session.h"

namespace CLI {
class App;
}

namespace klab {

/// Returns source_root(). Throws std::invalid_argument if there is none.
std::filesystem::path root_or_throw();

/// Returns the place of a baseline of this machine. Throws std::invalid_argument for a bad name, or if klab's
/// folder is not known.
Baseline baseline_of(const std::string& name);

/// Resolves a name or path on the command line: a file, or a baseline of this machine, or else one of another
/// machine. Throws NotFound with the existing names.
std::string rows_file_of(const std::string& name);

/// Reads those rows; rejects an interrupted run.
Recording read_rows(const std::string& name);

/// Options common to compare and regress.
struct JudgeOptions {
  std::string threshold = "2%";
  bool strict = false, list_missing = false, json = false, markdown = false;
  std::string junit;
  double fraction() const;  // the threshold as a fraction; throws std::invalid_argument if it is invalid
};
void add_judge_options(CLI::App& app, JudgeOptions& options);

/// Prints a comparison in the requested format, writes JUnit XML if requested, and returns the exit code.
int show(const CompareResult& result, const JudgeOptions& options);

}  // namespace klab
