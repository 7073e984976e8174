#include "harness/cli/report_file.h"
#include "harness/records/input.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "harness/cli/recorded.h"
#include "harness/core/source.h"
#include "harness/records/atomic_file.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Returns the JSON object in a file, else null.
json read_json(const fs::path& file) {
  try {
    json j = read_json_file(file);
    return j.is_object() ? j : json(nullptr);
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

}  // namespace

std::vector<ClaimEntry> claims_on_record(const std::set<std::string>& preferred) {
  std::vector<ClaimRecord> records = read_claim_records(source_root());
  std::ranges::stable_sort(records, {},
                           [&](const ClaimRecord& r) { return !preferred.contains(r.fingerprint); });
  ClaimRecord all;
  for (const ClaimRecord& record : records)
    for (const ClaimEntry& e : record.entries)
      if (e.complete() && all.find(e.claim.id) == nullptr) all.set(e);
  return all.entries;
}

std::string claims_line() try {
  std::map<ClaimVerdict, int> count;
  const auto claims = claims_on_record({fingerprint(this_machine())});
  for (const ClaimEntry& e : claims) ++count[e.verdict()];
  return claims.empty()
             ? ""
             : fmt::format("Claims on record: {} held, {} refuted, {} depend on something: klab claims",
                           count[ClaimVerdict::held], count[ClaimVerdict::refuted],
                           count[ClaimVerdict::depends]);
} catch (const ClaimRecordError& error) {
  return fmt::format("Claims on record: {}", error.what());
}

void find_records(ReportInput& in, const std::vector<std::string>& row_names) {
  std::set<std::string> machines;
  for (const Row& r : in.run.rows) machines.insert(r.fingerprint);
  const auto of_these = [&](const json& machine) {
    return machine.is_object() && machines.count(machine.value("fingerprint", "")) != 0;
  };
  std::vector<fs::path> places;
  for (const std::string& name : row_names) {
    const fs::path rows = rows_file_of(name);
    places.push_back(fs::path(rows).replace_extension(".json"));
    places.push_back(rows.parent_path() / "machine.json");
  }
  for (const std::string& machine : machines)
    places.push_back(source_root() / "reports" / "recorded" / machine / "machine.json");
  for (const fs::path& place : places) {
    const json j = read_json(place);
    if (!j.is_object() || !j.contains("machine") || !of_these(j["machine"])) continue;
    if (in.machine.is_null()) in.machine = j["machine"];
    if (in.ceilings.is_null() && j.contains("ceilings")) in.ceilings = j["ceilings"];
  }
  if (in.machine.is_null() && machines.count(fingerprint(this_machine())) != 0)
    in.machine = to_json(this_machine());
  in.claims = claims_on_record(machines);
}

void refuse_rows_twice(const Recording& run) {
  std::set<std::string> seen;
  for (const Row& r : run.rows)
    if (!seen.insert(fmt::format("{}|{}|{}", r.fingerprint, r.session, key_of(r))).second)
      throw std::invalid_argument(
          fmt::format("{} at {} on {} threads is in these files twice: give files of different sizes or "
                      "machines, or show the runs with --side-by-side, or compare them with klab compare",
                      r.variant, r.shape, r.threads));
}

std::string write_tour_report(const Recording& run) {
  if (run.rows.empty()) return "";
  ReportInput in;
  in.run = run;
  in.machine = to_json(this_machine());
  try {
    in.claims = claims_on_record({fingerprint(this_machine())});
  } catch (const ClaimRecordError&) {
    // A broken record costs no tour its report; the tour's last line names it.
  }
  const std::string text = report_html(in);
  std::error_code error;
  for (const fs::path& folder : {fs::current_path(error), fs::temp_directory_path(error)}) {
    if (folder.empty()) continue;
    try {
      const std::string file = (folder / "klab-report.html").string();
      write_file(file, text);
      return file;
    } catch (const FileError&) {
    }
  }
  return "";
}

}  // namespace klab
