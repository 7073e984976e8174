#include "labs/radiance/field/optimizer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/program/random.h"
#include "reference/adam/adam.h"

namespace klab {

OptimizerState::OptimizerState(int64_t count, int64_t group)
    : gradient(count), m(count), v(count), steps((count + group - 1) / group) {}

void OptimizerState::require_plausible(int64_t steps_done, const std::string& where) const {
  if (!std::all_of(steps.begin(), steps.end(), [&](int32_t s) { return s >= 0 && s <= steps_done; }) ||
      !std::all_of(v.begin(), v.end(), [](float second) { return second >= 0; }))
    throw std::runtime_error(where + ": is damaged: counts of steps or second moments that no training has");
}

void adam_step(Ops& ops, const AdamSettings& a, int64_t group, Array<float>& parameters,
               OptimizerState& state, int64_t zero_percent) {
  float hyper[Adam::kHypers];
  hyper[Adam::rate] = float(a.learning_rate);
  hyper[Adam::beta1] = float(a.beta1);
  hyper[Adam::beta2] = float(a.beta2);
  hyper[Adam::epsilon] = float(a.epsilon);
  hyper[Adam::l2] = float(a.weight_decay);
  const int64_t all = parameters.size();
  // Whole groups; a matrix is one group.
  const int64_t stretch = std::min(all, group <= kAdamStretch ? kAdamStretch / group * group : all);
  for (int64_t begin = 0; begin < all; begin += stretch) {
    const int64_t n = std::min(stretch, all - begin);
    float* gradient = state.gradient.data() + begin;
    ops.call<Adam>({.n = n, .group = group, .zero_percent = zero_percent},
                   {.hyper = hyper,
                    .gradient = gradient,
                    .param = parameters.data() + begin,
                    .m = state.m.data() + begin,
                    .v = state.v.data() + begin,
                    .steps = state.steps.data() + begin / group});
    ops.fill("clear gradients", gradient, 0, n * int64_t(sizeof(float)));
  }
}

int64_t untouched_percent(int64_t parameters, int64_t group, double touches) {
  return group < parameters ? std::lround(100 * std::exp(-touches * double(group) / double(parameters))) : 0;
}

void xavier_uniform(const MlpFwd::Shape& s, uint64_t seed, uint64_t purpose, float* weights) {
  const Draws draws(seed, 0, purpose);
  for (int64_t layer = 0; layer < s.layers(); ++layer) {
    const float limit = std::sqrt(6.0F / float(s.from(layer) + s.to(layer)));
    for (int64_t i = s.weight_begin(layer); i < s.weight_begin(layer + 1); ++i)
      weights[i] = limit * (2 * draws.unit(uint64_t(i)) - 1);
  }
}

}  // namespace klab
