#include "harness/cli/quality_pool.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/cli/recorded.h"
#include "harness/core/select.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/json_schema.h"
#include "harness/records/numbers.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kEnding = ".quality.json";
constexpr Range kPsnr{-1000, 1000};  // dB
constexpr Range kReach{0, 1000};

Json task_json(const QualityTask& t) {
  return {{"scene", t.scene},         {"field", t.field},     {"config", t.config},
          {"changes", t.changes},     {"backend", t.backend}, {"precision", t.precision},
          {"downscale", t.downscale}, {"holdout", t.holdout}, {"seconds", t.seconds},
          {"steps", t.steps},         {"reach", t.reach}};
}

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw std::runtime_error(
      fmt::format("{}: {}; record it again: klab regress --quality SCENE --baseline NAME", file, what));
}

std::string text_in(const Json& object, const char* key, const std::string& file) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string()) refuse(file, fmt::format("has no text \"{}\"", key));
  return at->get<std::string>();
}

QualityTask task_in(const Json& j, const std::string& file) {
  if (!j.is_object()) refuse(file, "has no object \"task\"");
  QualityTask t{.scene = text_in(j, "scene", file),
                .field = text_in(j, "field", file),
                .config = text_in(j, "config", file),
                .changes = {},
                .backend = text_in(j, "backend", file),
                .precision = text_in(j, "precision", file)};
  if (!j.contains("changes") || !j["changes"].is_array()) refuse(file, "has no list \"changes\"");
  for (const Json& change : j["changes"]) {
    if (!change.is_string()) refuse(file, "\"changes\" holds something that is no text");
    t.changes.push_back(change.get<std::string>());
  }
  t.downscale = number_in<int>(j, "downscale", range::downscale, file);
  t.holdout = number_in<int>(j, "holdout", range::holdout, file);
  t.seconds = number_in<double>(j, "seconds", {0, range::seconds.high}, file);
  t.steps = number_in<int64_t>(j, "steps", {0, range::steps.high}, file);
  t.reach = number_in<double>(j, "reach", kReach, file);
  return t;
}

QualityRun run_in(const Json& j, bool reach, const std::string& file) {
  if (!j.is_object()) refuse(file, "\"runs\" holds something that is no object");
  QualityRun run{.seed = number_in<uint64_t>(j, "seed", range::seed, file),
                 .psnr = number_in<double>(j, "psnr", kPsnr, file)};
  if (!reach) return run;
  const auto at = j.find("reached");
  if (at == j.end()) refuse(file, fmt::format("the training with seed {} has no \"reached\"", run.seed));
  run.reached = at->is_null() ? std::numeric_limits<double>::infinity()
                              : number_in<double>(j, "reached", {1e-9, range::steps.high}, file);
  run.validated = text_in(j, "validated", file);
  return run;
}

}  // namespace

std::string length_text(const QualityTask& t) {
  return t.seconds > 0 ? fmt::format("{:.6g} s", t.seconds) : fmt::format("{} steps", t.steps);
}

std::string new_pool_file_of(const std::string& name) {
  const fs::path rows = baseline_of(name).rows_file;
  return (rows.parent_path() / (name + kEnding)).string();
}

std::string pool_file_of(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return name;
  if (const std::string own = new_pool_file_of(name); fs::exists(own)) return own;
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& machine : fs::directory_iterator(root_or_throw() / "reports" / "recorded", error)) {
    if (const fs::path other = machine.path() / (name + kEnding); fs::exists(other)) return other.string();
    for (const auto& entry : fs::directory_iterator(machine.path(), error))
      if (const std::string file = entry.path().filename(); file.ends_with(kEnding))
        names.push_back(file.substr(0, file.size() - std::string(kEnding).size()));
  }
  throw NotFound(not_found_text("recorded pool of trainings", name, names) +
                 "\nMake it: klab regress --quality SCENE --baseline " + name);
}

QualityPool read_pool(const std::string& file) {
  const Json j = read_json_file(file);
  if (!j.is_object() || j.value("schema", Json()) != "quality") refuse(file, "is no pool of trainings");
  QualityPool pool{.machine = text_in(j, "machine", file), .commit = text_in(j, "commit", file)};
  pool.task = task_in(j.value("task", Json()), file);
  if (!j.contains("runs") || !j["runs"].is_array()) refuse(file, "has no list \"runs\"");
  for (const Json& run : j["runs"]) {
    pool.runs.push_back(run_in(run, pool.task.reach > 0, file));
    for (size_t i = 0; i + 1 < pool.runs.size(); ++i)
      if (pool.runs[i].seed == pool.runs.back().seed)
        refuse(file, fmt::format("has two trainings with seed {}", pool.runs[i].seed));
  }
  return pool;
}

void write_pool(const std::string& file, const QualityPool& pool) {
  Json runs = Json::array();
  for (const QualityRun& run : pool.runs) {
    Json j = {{"seed", run.seed}, {"psnr", run.psnr}};
    if (pool.task.reach > 0) {
      j["reached"] = std::isinf(run.reached) ? Json(nullptr) : Json(run.reached);
      j["validated"] = run.validated;
    }
    runs.push_back(std::move(j));
  }
  const Json all = {
      {"machine", pool.machine}, {"commit", pool.commit}, {"task", task_json(pool.task)}, {"runs", runs}};
  write_file(file, with_schema("quality", all).dump(1) + "\n");
}

std::string why_not_comparable(const QualityPool& base, const QualityPool& fresh) {
  const Json before = task_json(base.task), after = task_json(fresh.task);
  for (const auto& [key, value] : before.items())
    if (key != "changes" && value != after[key])
      return fmt::format("{}: {} and {}", key, value.dump(), after[key].dump());
  if (base.task.seconds > 0 && base.machine != fresh.machine)
    return fmt::format("machine: {} and {}, and the length is in seconds", base.machine, fresh.machine);
  for (const QualityRun& a : base.runs)
    for (const QualityRun& b : fresh.runs)
      if (a.validated != b.validated)
        return fmt::format(
            "validation: on {} with seed {}, and on {} with seed {}, since pictures took longer (leave "
            "--reach "
            "out, or train longer)",
            a.validated, a.seed, b.validated, b.seed);
  return "";
}

}  // namespace klab
