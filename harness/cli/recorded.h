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

/// source_root(). Throws std::invalid_argument when there is none.
std::filesystem::path root_or_throw();

/// Where a baseline of this machine is kept. Throws std::invalid_argument for a bad name, and when this program does
/// not know where klab's folder is.
Baseline baseline_of(const std::string& name);

/// What a name or a path on the command line means: a file, or a baseline of this machine, or else one of another.
/// Throws NotFound with the names that there are.
std::string rows_file_of(const std::string& name);

/// read_csv of that; an interrupted run is refused.
Recording read_rows(const std::string& name);

/// Options that compare and regress share.
struct JudgeOptions {
  std::string threshold = "2%";
  bool strict = false, list_missing = false, json = false, markdown = false;
  std::string junit;
  double fraction() const;  // of the threshold; throws std::invalid_argument on nonsense
};
void add_judge_options(CLI::App& app, JudgeOptions& options);

/// Prints a comparison as asked, writes JUnit XML if asked, and returns the exit code.
int show(const CompareResult& result, const JudgeOptions& options);

}  // namespace klab
