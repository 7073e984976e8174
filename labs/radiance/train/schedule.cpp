#include "labs/radiance/train/schedule.h"

#include <algorithm>
#include <cmath>

#include "labs/radiance/train/batch.h"

namespace klab {

double scheduled_rate(const Config& c, int64_t step, double progress) {
  double rate = c.learning_rate;
  if (double(step) < c.warmup_steps) rate *= double(step + 1) / c.warmup_steps;
  if (c.schedule == "cosine") return rate * cosine_to(c.final_rate, progress);
  if (c.schedule == "shares") {
    // Tolerates shares that rounding leaves a little short: 0.6 is 0.4 and 0.2.
    const double since = (progress - c.decay_start_share) / c.decay_every_share;
    return since < 0 ? rate : rate * std::pow(c.decay, 1 + std::floor(since + 1e-9));
  }
  if (step >= c.decay_start) {
    const int64_t decays = 1 + (step - c.decay_start) / c.decay_every;
    rate *= std::pow(c.decay, double(decays));
  }
  return rate;
}

int64_t closed_levels_at(const Config& c, double progress) {
  if (c.open_until <= 0 || progress >= c.open_until) return 0;
  const int64_t first = std::min(c.open_first, c.levels);
  return c.levels - first - int64_t(progress / c.open_until * double(c.levels - first));
}

}  // namespace klab
