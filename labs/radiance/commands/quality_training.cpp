// Trains for klab regress --quality: one seed, in a process of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/cli/command.h"
#include "harness/cli/quality_gate.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "labs/radiance/run/apart.h"
#include "labs/radiance/scene/save_scene.h"

namespace klab::quality_training {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Returns the scene to name to klab train. The built-in scene depends on the seed, and pools need the same for all of their
/// trainings: that of seed 1 is written once.
std::string scene_of(const QualityTask& task, const fs::path& below) {
  if (task.scene != "built-in") return task.scene;
  const fs::path folder = below / "scene";
  if (fs::exists(folder / "transforms_test.json")) return folder.string();
  fs::create_directories(folder);
  save_scene(folder, built_in_scene({.downscale = task.downscale}));
  return folder.string();
}

std::vector<std::string> arguments_of(const QualityTask& task, uint64_t seed, const std::string& program,
                                      const fs::path& below, const fs::path& run) {
  const bool made = task.scene == "built-in";
  std::vector<std::string> list = {program.empty() ? "klab" : fs::absolute(program).string(), "train",
                                   scene_of(task, below)};
  const auto add = [&](const std::string& option, const std::string& value) {
    list.push_back(option);
    list.push_back(value);
  };
  add("--out", run.string());
  add("--field", task.field);
  add("--seed", std::to_string(seed));
  add("--backend", task.backend);
  add("--precision", task.precision);
  add("--downscale", std::to_string(made ? 1 : task.downscale));
  add("--holdout", std::to_string(task.holdout));
  add("--score", "all");  // trainings that are compared are scored alike, however fast each is
  if (task.seconds > 0)
    add("--seconds", fmt::format("{}", task.seconds));
  else
    add("--steps", std::to_string(task.steps));
  if (!task.config.empty()) {
    const fs::path config = below / "config.json";
    write_file(config, task.config + "\n");
    add("--config", config.string());
  }
  // The built-in scene trains on random backgrounds, and its files do not say so.
  const auto sets_background = [](const std::string& c) { return c.starts_with("background="); };
  if (made && std::ranges::none_of(task.changes, sets_background) &&
      task.config.find("\"background\"") == std::string::npos)
    add("--set", "background=random");
  for (const std::string& change : task.changes) add("--set", change);
  if (task.reach > 0) add("--eval-every", task.seconds > 0 ? fmt::format("{}", task.seconds / 20) : "0.5");
  if (settings().threads > 0) add("--threads", std::to_string(settings().threads));
  return list;
}

/// Returns the last line of a log that says what went wrong.
std::string message_in(const fs::path& log) {
  std::ifstream in(log);
  std::string line, last;
  while (std::getline(in, line))
    if (line.starts_with("klab:") || (last.empty() && !line.empty())) last = line;
  return last.starts_with("klab: ") ? last.substr(6) : last;
}

/// Returns the length at which the validations reached the stated dB, between two of them by the logarithm of the length;
/// infinite if they did not.
double reached_at(const json& result, const QualityTask& task, const fs::path& file) {
  if (!result.contains("validation") || !result["validation"].contains("points"))
    throw std::runtime_error(
        file.string() +
        ": has no \"validation\": the training was too short for --reach; give more --steps "
        "or --seconds, or leave --reach out");
  double before_length = 0, before = 0;
  for (const json& p : result["validation"]["points"]) {
    const double length = p.at(task.seconds > 0 ? "seconds" : "step").get<double>();
    const double psnr = p.at("psnr").get<double>();
    if (psnr >= task.reach) {
      if (before_length <= 0 || psnr <= before) return length;
      const double part = (task.reach - before) / (psnr - before);
      return std::exp(std::log(before_length) + part * std::log(length / before_length));
    }
    before_length = length;
    before = psnr;
  }
  return std::numeric_limits<double>::infinity();
}

bool train(const QualityTask& task, uint64_t seed, const std::string& program, const std::string& folder,
           QualityRun& run) {
  const fs::path below = folder, out = below / fmt::format("seed_{}{}", seed, program.empty() ? "" : "_base");
  const fs::path log = fs::path(out.string() + ".log"), file = out / "result.json";
  const int code = run_apart(arguments_of(task, seed, program, below, out), log, true);
  if (code == 130 || code == 128 + 2 || code == 128 + 15) return false;
  if (code != 0)
    throw std::runtime_error(
        fmt::format("--quality: the training with seed {}{} ended with exit code {}: {} (log "
                    "{})",
                    seed, program.empty() ? "" : " of " + program, code, message_in(log), log.string()));
  const json result = read_json_file(file);
  try {
    if (result.value("interrupted", false)) return false;
    run.psnr = result.at("score").at("psnr").get<double>();
    if (task.reach > 0) {
      run.reached = reached_at(result, task, file);
      const json& v = result["validation"];
      run.validated = fmt::format("{} views of {}x{}", v.at("views").get<int>(), v.at("width").get<int>(),
                                  v.at("height").get<int>());
    }
  } catch (const json::exception&) {
    throw std::runtime_error(file.string() +
                             ": has no \"score\" with a \"psnr\": the scene needs test views; "
                             "give --holdout 8, or a scene with a test set");
  }
  std::error_code ignored;
  fs::remove_all(out, ignored);
  fs::remove(log, ignored);
  return true;
}

const QualityTrainingRegistrar registrar(train);

}  // namespace
}  // namespace klab::quality_training
