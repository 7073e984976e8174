#include "harness/cli/recorded.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/cli/json_option.h"
#include "harness/core/select.h"
#include "harness/core/source.h"
#include "harness/records/atomic_file.h"
#include "harness/records/recorded_counts.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

/// Returns the folders of machines, without the folder of recorded counts, which belongs to no machine.
std::vector<fs::path> machine_folders(const fs::path& root) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "reports" / "recorded", error))
    if (entry.is_directory() && entry.path() != counts_file(root, "").parent_path())
      folders.push_back(entry.path());
  return folders;
}

/// Returns the names of the recorded runs of all machines.
std::vector<std::string> recorded_names(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::path& machine : machine_folders(root))
    for (const auto& entry : fs::recursive_directory_iterator(machine, error))
      if (entry.path().extension() == ".csv") names.push_back(entry.path().stem().string());
  return names;
}

}  // namespace

fs::path root_or_throw() {
  const fs::path root = source_root();
  if (root.empty())
    throw std::invalid_argument(
        "klab's own folder, where recorded runs are kept, was not found; set KLAB_ROOT to it");
  return root;
}

Baseline baseline_of(const std::string& name) {
  return baseline_at(root_or_throw().string(), fingerprint(this_machine()), name);
}

std::string rows_file_of(const std::string& name) {
  const bool path = name.find('/') != std::string::npos || name.ends_with(".csv") || name.ends_with(".json");
  if (path || fs::exists(name)) {
    if (name.ends_with(".json"))
      throw std::invalid_argument(
          name + ": rows are read from .csv; the .json of the same run is for other programs");
    return name;
  }
  const Baseline own = baseline_of(name);
  if (fs::exists(own.rows_file)) return own.rows_file;
  const fs::path root = root_or_throw();
  for (const fs::path& machine : machine_folders(root))
    if (const fs::path other = machine / (name + ".csv"); fs::exists(other)) return other.string();
  const auto names = recorded_names(root);
  throw NotFound(
      not_found_text("recorded run", name, names) +
      "\nName a file of rows (klab bench WHAT --out FILE.csv), or make it: klab bench WHAT --baseline " +
      name);
}

Recording read_rows(const std::string& name) { return read_csv(rows_file_of(name)); }

double JudgeOptions::fraction() const {
  const bool percent = threshold.ends_with('%');
  const char* end = threshold.data() + threshold.size() - (percent ? 1 : 0);
  double value = 0;
  const auto [at, error] = std::from_chars(threshold.data(), end, value);
  const double fraction = percent ? value / 100 : value;
  if (error != std::errc() || at != end || !(fraction >= 0 && fraction < 1))
    throw std::invalid_argument(
        fmt::format("--threshold {}: write it as 5% or 0.05, from 0 to below 100 %", threshold));
  return fraction;
}

void add_judge_options(CLI::App& app, JudgeOptions& o) {
  app.add_option("--threshold", o.threshold, "changes up to this do not matter (default: 2%)");
  app.add_flag("--strict", o.strict, "exit code 2 when anything is undecided, or is only in the base");
  app.add_flag("--list-missing", o.list_missing,
               "name all that is in one of the runs only, not the first 20");
  add_json(app, o.json, {{"changes", ""}});
  app.add_flag("--markdown", o.markdown, "for a pull request");
  app.add_option("--junit", o.junit, "write JUnit XML to this file, for a build server");
}

namespace {

/// Returns the reason for exit code 2.
std::string why_undecided(const CompareResult& result) {
  if (result.unusable_base)
    return "nothing could be decided: the base has no usable session, since other work took the processor in "
           "all of "
           "them; record it again on a quiet machine: klab bench WHAT --baseline NAME";
  if (result.count(Verdict::undecided) == int(result.changes.size())) return "nothing could be decided";
  if (const auto hidden = result.hidden_slowdowns(); !hidden.empty())
    return fmt::format(
        "{} was measured {:.0f} % slower, and noise leaves that undecided{}; measure again on a quiet "
        "machine",
        hidden.front()->variant, 100 * std::expm1(hidden.front()->judgement.change.value),
        hidden.size() > 1 ? fmt::format(", as for {} more", hidden.size() - 1) : "");
  if (result.count(Verdict::undecided) > 0) return "something is undecided, which --strict does not let pass";
  return fmt::format("{} {} only in the base, which --strict does not let pass; the first: {}",
                     result.missing.size(), result.missing.size() == 1 ? "variant is" : "variants are",
                     result.missing.front());
}

}  // namespace

int show(const CompareResult& result, const JudgeOptions& o) {
  const int code = exit_code_of(result, o.strict);
  const ChangeTextOptions text{.list_missing = o.list_missing, .threshold = o.fraction()};
  if (o.json)
    fmt::print("{}\n", change_json(result, code).dump(2));
  else
    fmt::print("{}", o.markdown ? change_markdown(result, text) : change_text(result, text));
  if (!o.junit.empty()) write_file(o.junit, change_junit(result));
  if (code == 2) fmt::print(stderr, "klab: {}\n", why_undecided(result));
  return code;
}

}  // namespace klab
