// The optimizer state of an array of parameters, and the step that updates it.
#pragma once

#include "harness/program/memory.h"
#include "harness/program/ops.h"
#include "harness/records/tensor_file.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {

/// Gradient, moments and step counts of `count` parameters; each `group` of them shares one step count.
struct OptimizerState {
  OptimizerState() = default;
  OptimizerState(int64_t count, int64_t group);

  /// Throws std::runtime_error, "<where>: ...", for step counts above `steps_done` and negative second
  /// moments.
  void require_plausible(int64_t steps_done, const std::string& where) const;

  Array<float> gradient, m, v;
  Array<int32_t> steps;  // [count/group]
};

/// Returns the moments and step counts that a checkpoint keeps of an array: "optimizer.<name>.m", ".v",
/// ".steps". They are also the destination when it is read. Valid while `of` lives.
template <class Moments>
std::vector<TensorView> moment_tensors(const std::string& name, const Moments& of) {
  const std::string prefix = "optimizer." + name;
  return {{prefix + ".m", "F32", {int64_t(of.m.size())}, of.m.data()},
          {prefix + ".v", "F32", {int64_t(of.v.size())}, of.v.data()},
          {prefix + ".steps", "I32", {int64_t(of.steps.size())}, of.steps.data()}};
}

struct AdamSettings {
  double learning_rate = 1e-2, beta1 = 0.9, beta2 = 0.99, epsilon = 1e-15, weight_decay = 0;
};

/// Makes one step of Adam, then sets the gradient to zero, ready for the next accumulation. `zero_percent` of the groups have no
/// gradient, as far as is known before (untouched_percent()).
void adam_step(Ops& ops, const AdamSettings& settings, int64_t group, Array<float>& parameters,
               OptimizerState& state, int64_t zero_percent = 0);

/// Parameters of a call on a processor, whose gradient is cleared while it is still in a cache. The whole gradient is
/// cleared: finding the lines that hold something takes longer than the saved writes.
constexpr int64_t kAdamStretch = 1 << 17;

/// Returns the percentage of groups without a gradient (Adam::Shape::zero_percent), where a step adds to `touches` groups at random,
/// each as often as it does. A matrix is one group and has none.
int64_t untouched_percent(int64_t parameters, int64_t group, double touches);

/// Fills the layers' matrices uniformly in +-sqrt(6/(from+to)) (Glorot & Bengio 2010).
void xavier_uniform(const MlpFwd::Shape& mlp, uint64_t seed, uint64_t purpose, float* weights);

}  // namespace klab
