// Experiment memory_manager: compares a training with all free memory and with a budget. Trainings run in
// separate processes, so that the system reports their peaks.
#include <fmt/format.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "harness/records/input.h"
#include "labs/radiance/claims/own_folder.h"
#include "labs/radiance/claims/small_runs.h"
#include "labs/radiance/run/apart.h"
#include "labs/radiance/run/budget.h"

namespace klab::learning::memory_manager_claim {
namespace {

const Claim kLess{.id = "memory_manager.less",
                  .said = "a memory manager takes 30 to 50 % less memory",
                  .source = "plan",
                  .metric = "share of the peak saved",
                  .rule = at_least(0.3),
                  .kind = ClaimKind::timed,  // a training times rungs to choose among them
                  .on = "what it may cost"};

namespace fs = std::filesystem;

/// Result of a training.
struct Trained {
  double peak = 0, psnr = 0, rate = 0;
  int64_t batch = 0, log2_table = 0;
};

/// `memory`: bytes of the budget; 0: what is free. Empty where the budget is less than a training takes at least. By the rungs
/// that a training named `plan` has chosen, so that none is timed, which takes memory of its own.
std::optional<Trained> train(const OwnFolder& folder, const std::string& name, const std::string& plan,
                             int64_t memory, uint64_t seed) {
  const fs::path log = folder.path() / (name + ".log"), out = folder.path() / name;
  std::vector<std::string> command = {"klab",      "train", "built-in", "--downscale",        "4",
                                      "--steps",   "60",    "--seed",   std::to_string(seed), "--out",
                                      out.string()};
  if (!plan.empty()) command.insert(command.end(), {"--plan", (folder.path() / plan / "plan.json").string()});
  if (memory > 0) command.insert(command.end(), {"--memory", std::to_string(memory / 1'000'000) + "MB"});
  if (const int code = run_apart(command, log, true); code != 0) {
    const std::string words = read_input(log);
    if (memory > 0 && words.find("is too little") != std::string::npos) return std::nullopt;
    throw std::runtime_error(fmt::format("klab train {} ended with exit code {}: {}", name, code, words));
  }
  const nlohmann::json r = read_json_file(out / "result.json");
  return Trained{.peak = r.at("peak_memory").get<double>(),
                 .psnr = r.at("score").at("psnr").get<double>(),
                 .rate = r.at("samples_per_second").get<double>(),
                 .batch = r.at("batch_samples").get<int64_t>(),
                 .log2_table = r.at("config").at("log2_table").get<int64_t>()};
}

/// A training within that share of `peak`, or within the smallest larger one, by steps of five per cent, that it accepts: what a
/// process takes before its first array differs from machine to machine. Returns the per cent, too.
std::pair<Trained, int> train_within(const OwnFolder& folder, const std::string& plan, int percent,
                                     double peak, uint64_t seed) {
  for (int given = percent; given <= 100; given += 5)
    if (const auto t = train(folder, fmt::format("budget_{}_{}", percent, given), plan,
                             int64_t(peak * given / 100), seed))
      return {*t, given};
  throw std::runtime_error("klab train does not accept a budget of what it has taken without one");
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"budget", "peak, by the system", "of the first", "PSNR, dB", "batch", "log2_table",
                        "samples/s"},
              .x = "peak, MB",
              .y = "PSNR, dB"};
  const OwnFolder folder;
  Curve curve{"trainings", {}};
  const auto show = [&](const std::string& name, const Trained& t, const Trained& first) {
    out.rows.push_back({name, bytes_text(int64_t(t.peak)), fmt::format("{:.2f}", t.peak / first.peak),
                        fmt::format("{:.2f}", t.psnr), std::to_string(t.batch), std::to_string(t.log2_table),
                        fmt::format("{:.2f} M", t.rate * 1e-6)});
    curve.points.emplace_back(t.peak * 1e-6, t.psnr);
  };
  const std::string first = "another_seed";
  const Trained other = *train(folder, first, "", 0, seed + 1), free = *train(folder, "free", first, 0, seed);
  const double noise = std::max(0.05, 2 * std::abs(other.psnr - free.psnr));
  show("what is free", free, free);
  double saved = 0, lost_then = 0;  // the most that was saved, and what it cost
  double saved_free = 0;            // for nothing
  for (const int percent : {70, 50}) {
    const auto [t, given] = train_within(folder, first, percent, free.peak, seed);
    show(fmt::format("{} % of that", given), t, free);
    saved = std::max(saved, 1 - t.peak / free.peak);
    lost_then = free.psnr - t.psnr;
    if (free.psnr - t.psnr <= noise) saved_free = std::max(saved_free, 1 - t.peak / free.peak);
  }
  out.curves = {curve};
  out.decided = {decide(
      kLess, {{"no more dB than another seed", {saved_free}}, {"any dB", {saved}}},
      fmt::format("{:.0f} % less with no loss beyond what another seed makes ({:.2f} dB); {:.0f} % less at "
                  "most, for {:.2f} dB: it depends on what may become smaller",
                  100 * saved_free, noise, 100 * saved, lost_then))};
  return out;
}

const ExperimentRegistrar registrar(
    {"memory_manager", "What a training takes with a budget and without one", run, nullptr, {kLess}});

}  // namespace
}  // namespace klab::learning::memory_manager_claim
