// An optimizer: moments and step counts of all parameters, and the op that takes the step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labs/learning/network/module.h"

namespace klab::learning {

struct OptimizerSettings {
  std::string name = "adamw";  // sgd, momentum, nesterov, adam, adamw, nadam
  double rate = 2e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double decay = 1e-2;  // of matrices and kernels: L2, or decoupled with adamw
  double clip = 0;      // gradients are scaled so that their norm is at most this; 0: not
};

class Optimizer {
 public:
  /// Throws std::invalid_argument for a name that it does not know.
  Optimizer(Parameters& parameters, const OptimizerSettings& settings);

  void calls(std::vector<PlannedCall>& list) const;
  /// One step at rate·factor. Returns the norm of the gradient before clipping.
  double step(const Pass& pass, double factor);

  /// Moments and counts, for a checkpoint.
  std::vector<Kept> kept();
  int32_t* count(bool decays) { return &state_[decays].steps; }

 private:
  struct State {
    Array<float> m, v;
    int32_t steps = 0;
  };
  double clip();
  template <class Contract>
  void run(const Pass& pass, bool decays, const float* hyper);

  Parameters& parameters_;
  OptimizerSettings settings_;
  State state_[2];
};

}  // namespace klab::learning
