#include "labs/radiance/tune/use_tuned.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "labs/radiance/run/stop.h"

namespace klab {
namespace {

std::optional<Tuned> remembered_for(const RunOptions& run) {
  try {
    return tuned_in(tuned_file(), run.settings, run.backend);
  } catch (const std::runtime_error& e) {
    fmt::print(stderr, "note      {}\n", e.what());
    return std::nullopt;
  }
}

/// Tunes now.
std::optional<Tuned> found_now(const RunOptions& run, const OnCommandLine& given, CallTimes& times,
                               std::FILE* words) {
  TuneOptions options{.scene = run.scene.value_or("built-in"),
                      .downscale = run.downscale.value_or(1),
                      .holdout = run.holdout.value_or(8),
                      .seed = run.seed.value_or(1),
                      .settings = run.settings,
                      .backend = run.backend,
                      .plan = run.plan.value_or("best"),
                      .batch = true,
                      .seconds = *run.seconds,
                      .resident = run.resident.value_or(0),
                      .fixed_threads = given.threads};
  const StopSignals signals;
  const TuneResult result = tune(options, times, words);
  if (result.interrupted) return std::nullopt;
  fmt::print(words, "{}", tune_text(result));
  if (const auto file = tuned_file(); !file.empty() && result.quiet())
    remember(file, result.tuned);
  else
    fmt::print(words, "nothing is remembered: other programs kept {:.1f} hardware threads busy\n",
               result.others);
  return result.tuned;
}

}  // namespace

bool use_tuned(RunOptions& run, const OnCommandLine& given, bool batch, CallTimes& times) {
  std::FILE* const words = run.json ? stderr : stdout;
  if (batch && !run.seconds)
    throw std::runtime_error("--tune chooses the batch that is best after a time: give --seconds");
  std::optional<Tuned> tuned = remembered_for(run);
  const bool fits = tuned && tuned->batch_samples > 0 &&
                    tuned->batch_seconds <= 2 * run.seconds.value_or(0) &&
                    tuned->batch_seconds >= 0.5 * run.seconds.value_or(0);
  if (batch && !fits) {
    tuned = found_now(run, given, times, words);
    if (!tuned) return false;
  }
  if (!tuned) return true;
  std::string taken;
  const auto take = [&](const std::string& what) { taken += (taken.empty() ? "" : ", ") + what; };
  if (!given.threads) {
    omp_set_num_threads(tuned->threads);
    take(fmt::format("{} thread{}", tuned->threads, tuned->threads == 1 ? "" : "s"));
  }
  if (tuned->workers > 0 && run.resident && !given.workers) {
    run.workers = tuned->workers;
    take(fmt::format("{} worker{}", run.workers, run.workers == 1 ? "" : "s"));
  }
  if (tuned->ahead > 0 && run.resident && !given.ahead) {
    run.ahead = tuned->ahead;
    take(fmt::format("{} pictures ahead", run.ahead));
  }
  if (!tuned->blocks.empty() && std::getenv("KLAB_BLOCKS") == nullptr) {
    setenv("KLAB_BLOCKS", blocks_text(tuned->blocks).c_str(), 1);
    take(fmt::format("blocks of {} rungs by {}", tuned->blocks.size(), tuned->blocks_by));
  }
  if (batch) {
    run.settings.hash.batch_samples = tuned->batch_samples;
    run.settings.hash.first_rays = std::min(run.settings.hash.first_rays, tuned->batch_samples);
    take(fmt::format("a batch of {} samples", tuned->batch_samples));
  }
  if (!taken.empty())
    fmt::print(words, "tuned     {} (klab tune on {}, {}; what is given on the command line goes first)\n",
               taken, tuned->scene, tuned->date);
  return true;
}

}  // namespace klab
