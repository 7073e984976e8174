#include "harness/cli/site/site_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/gpu_queue.h"
#include "harness/core/source.h"
#include "harness/records/input.h"
#include "harness/report/report.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

/// Returns the files of rows in a machine's folder, later measurements of the same rungs last.
std::vector<fs::path> row_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name == "run.csv" || (name.starts_with("gpu_rows") && name.ends_with(".csv")))
      files.push_back(entry.path());
  }
  // "gpu_rows.csv" is the first of its kind: later files have a date at the end.
  std::ranges::sort(files, {}, [](const fs::path& p) { return p.stem().string(); });
  return files;
}

/// Reads the timed rows of a folder; a rung that was timed again at a shape is there once.
Recording timed_rows(const fs::path& folder) {
  std::vector<Row> rows;
  std::map<std::string, size_t> places;
  for (const fs::path& file : row_files(folder)) {
    Recording part;
    for (Row& r : read_csv(file.string(), true).rows)
      if (!r.seconds.empty()) part.rows.push_back(std::move(r));
    for (Row& r : merged_sessions(part).rows) {
      const auto [at, fresh] =
          places.emplace(fmt::format("{}|{}|{}|{}", r.variant, r.shape, r.cache, r.threads), rows.size());
      if (fresh)
        rows.push_back(std::move(r));
      else
        rows[at->second] = std::move(r);
    }
  }
  Recording all;
  all.rows = std::move(rows);
  return all;
}

}  // namespace

RecordedMachine recorded_machine(const fs::path& folder) {
  const fs::path file = folder / "machine.json";
  const nlohmann::json j = read_json_file(file);
  if (!j.is_object() || !j.contains("machine") || !j["machine"].is_object())
    throw std::runtime_error(file.string() +
                             ": has no object \"machine\": klab doctor --json writes such a file");
  const nlohmann::json& m = j["machine"];
  const auto text = [&](const char* field) {
    if (!m.contains(field) || !m[field].is_string())
      throw std::runtime_error(fmt::format("{}: machine.{} is no text: klab doctor --json writes such a file",
                                           file.string(), field));
    return m[field].get<std::string>();
  };
  const std::string gpu = text("gpu");
  RecordedMachine machine{.fingerprint = folder.filename(), .name = "", .gpu = gpu != "none", .rows = {}};
  machine.name = fmt::format("{}{}, {}, {} threads", machine.gpu ? gpu + "; " : "", text("processor"),
                             text("instruction_set"), m.value("threads", 0));
  return machine;
}

const std::vector<RecordedMachine>& SiteRecords::machines() {
  if (machines_) return *machines_;
  std::vector<RecordedMachine> list;
  const fs::path recorded = source_root() / "reports/recorded";
  if (fs::is_directory(recorded))
    for (const auto& entry : fs::directory_iterator(recorded)) {
      if (!entry.is_directory() || !fs::exists(entry.path() / "machine.json")) continue;
      RecordedMachine machine = recorded_machine(entry.path());
      machine.rows = timed_rows(entry.path());
      if (!machine.rows.rows.empty()) list.push_back(std::move(machine));
    }
  std::ranges::sort(list, {}, &RecordedMachine::name);
  machines_ = std::move(list);
  return *machines_;
}

const RungCounts* SiteRecords::counts(const Variant& variant) {
  if (variant.backend != "cuda") return nullptr;
  auto at = counts_.find(variant.op);
  if (at == counts_.end())
    at = counts_.emplace(variant.op, read_counts(counts_file(source_root(), variant.op), variant.op)).first;
  const RungCounts* counts = at->second ? at->second->find(variant.id) : nullptr;
  return counts == nullptr || counts->shape.empty() ? nullptr : counts;
}

std::string SiteRecords::waits(const Variant& variant) {
  if (variant.backend != "cuda" || variant.peer) return "";
  if (!waiting_) {
    waiting_.emplace();
    for (const Waiting& w : waiting_for_gpu(source_root())) (*waiting_)[w.rung] = w.reason;
  }
  const bool timed = std::ranges::any_of(machines(), [&](const RecordedMachine& m) {
    return std::ranges::any_of(m.rows.rows, [&](const Row& r) { return r.variant == variant.id; });
  });
  if (!timed) return "not yet measured on a GPU";
  const auto at = waiting_->find(variant.id);
  return at == waiting_->end() ? "" : "on a GPU: " + at->second;
}

}  // namespace klab
