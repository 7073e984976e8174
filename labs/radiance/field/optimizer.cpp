#include "labs/radiance/field/optimizer.h"

#include <algorithm>
#include <cmath>

#include "harness/core/op.h"
#include "labs/radiance/field/random.h"
#include "reference/adam/adam.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

MlpFwd::Shape shape_from(const std::array<int64_t, 6>& mlp) { return shape_of<MlpFwd>(mlp); }

// Parameters to a stretch: its gradient is cleared while it is still in a cache. All of it: to look which lines hold
// something takes longer than what is not written saves.
constexpr int64_t kStretch = 1 << 17;

}  // namespace

OptimizerState::OptimizerState(int64_t count, int64_t group)
    : gradient(count), m(count), v(count), steps((count + group - 1) / group) {}

void adam_step(const Plan& plan, const AdamSettings& a, int64_t group, Array<float>& parameters,
               OptimizerState& state) {
  float hyper[Adam::kHypers];
  hyper[Adam::rate] = float(a.learning_rate);
  hyper[Adam::beta1] = float(a.beta1);
  hyper[Adam::beta2] = float(a.beta2);
  hyper[Adam::epsilon] = float(a.epsilon);
  hyper[Adam::l2] = float(a.weight_decay);
  const int64_t all = parameters.size();
  // Stretches of whole groups; a matrix is one group.
  const int64_t stretch = group <= kStretch ? kStretch / group * group : all;
  for (int64_t begin = 0; begin < all; begin += stretch) {
    const int64_t n = std::min(stretch, all - begin);
    float* gradient = state.gradient.data() + begin;
    plan.run("adam", std::array<int64_t, 3>{n, group, 0},
             {hyper, gradient, parameters.data() + begin, state.m.data() + begin, state.v.data() + begin,
              state.steps.data() + begin / group});
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) gradient[i] = 0;
  }
}

int64_t mlp_weights(const std::array<int64_t, 6>& mlp) { return shape_from(mlp).weights(); }

void xavier_uniform(const std::array<int64_t, 6>& mlp, uint64_t seed, uint64_t purpose, float* weights) {
  const auto s = shape_from(mlp);
  const Draws draws(seed, 0, purpose);
  for (int64_t layer = 0; layer < s.layers(); ++layer) {
    const float limit = std::sqrt(6.0F / float(s.from(layer) + s.to(layer)));
    for (int64_t i = s.weight_begin(layer); i < s.weight_begin(layer + 1); ++i)
      weights[i] = limit * (2 * draws.unit(uint64_t(i)) - 1);
  }
}

}  // namespace klab
