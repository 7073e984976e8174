// An optimizer: moments and step counts of all parameters, and the op that performs the step.
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
  double clip = 0;      // limit for the norm of the gradients, which are scaled down to it; 0: none
};

class Optimizer {
 public:
  /// Throws std::invalid_argument for an unknown name.
  Optimizer(Parameters& parameters, const OptimizerSettings& settings);

  void calls(std::vector<PlannedCall>& list) const;
  /// Takes one step at rate·factor. Returns the norm of the gradient before clipping.
  double step(const Pass& pass, double factor);

  /// Returns moments and counts, for a checkpoint.
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
