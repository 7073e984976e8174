#include "labs/radiance/claims/small_runs.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <ctime>

#include "harness/timing/statistics.h"
#include "labs/radiance/evaluate/renderer.h"

namespace klab::learning {

Config small_hash_config() {
  Config c;
  c.levels = 8;
  c.log2_table = 12;
  c.finest_resolution = 128;
  c.batch_samples = 2048;
  c.first_rays = 64;
  c.grid = 32;
  c.steps_per_diagonal = 128;
  c.table_rate = 1;  // other rates are compared with this one
  c.width = 16;
  return c;
}

const Scene& small_built_in_scene() {
  static const Scene scene = built_in_scene({.downscale = 16});
  return scene;
}

Plan small_plan(const Config& config, int cascades) {
  std::vector<PlannedCall> calls = training_calls(config, cascades);
  for (const PlannedCall& call : render_calls(config, cascades)) calls.push_back(call);
  return untimed_plan(calls);
}

Plan small_hash_plan(const Config& config) { return small_plan(config, small_built_in_scene().cascades); }

double small_psnr(const Model& model) {
  return evaluate(model, small_hash_plan(model.config), small_built_in_scene().test).psnr;
}

OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

RunLength train_for(FieldTrainer& trainer, const RunLength& length) {
  const double begin = processor_seconds();
  int64_t steps = 0;
  const auto done = [&] {
    return length.seconds > 0 ? (processor_seconds() - begin) / length.seconds
                              : double(steps) / double(std::max<int64_t>(1, length.most));
  };
  for (double progress = 0; progress < 1; progress = done()) {
    trainer.step(progress);
    ++steps;
  }
  return {.most = steps, .seconds = processor_seconds() - begin};
}

Measured measured(const std::string& metric, std::vector<double> rounds) {
  const auto [low, high] = std::ranges::minmax(rounds);
  return {.metric = metric, .low = low, .value = median(rounds), .high = high};
}

std::string db_text(double psnr) { return fmt::format("{:.2f} dB", psnr); }

std::vector<double> least_seconds(const std::vector<std::function<void()>>& calls, int rounds) {
  std::vector<double> least(calls.size(), 1e300);
  for (int round = 0; round < rounds; ++round)
    for (size_t k = 0; k < calls.size(); ++k) {
      const double begin = processor_seconds();
      calls[k]();
      least[k] = std::min(least[k], processor_seconds() - begin);
    }
  return least;
}

}  // namespace klab::learning
