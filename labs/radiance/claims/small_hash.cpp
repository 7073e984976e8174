#include "labs/radiance/claims/small_hash.h"

#include <algorithm>

#include "harness/timing/statistics.h"
#include "labs/radiance/evaluate/renderer.h"

namespace klab::learning {

Config small_hash() {
  Config c;
  c.levels = 8;
  c.log2_table = 12;
  c.finest_resolution = 128;
  c.batch_samples = 2048;
  c.first_rays = 64;
  c.grid = 32;
  c.steps_per_diagonal = 128;
  c.width = 16;
  return c;
}

Plan small_plan(const Config& config, int cascades) {
  std::vector<PlannedCall> calls = training_calls(config, cascades);
  for (const PlannedCall& call : render_calls(config, cascades)) calls.push_back(call);
  return untimed_plan(calls);
}

Finding reached(double factor, double least) {
  if (factor >= least) return Finding::held;
  return factor < 1 + (least - 1) / 2 ? Finding::refuted : Finding::depends;
}

Measured measured(const std::string& metric, std::vector<double> rounds) {
  const auto [low, high] = std::ranges::minmax(rounds);
  return {.metric = metric, .low = low, .value = median(rounds), .high = high};
}

}  // namespace klab::learning
