// The factor on the loss that keeps small gradients from vanishing in half precision, and what becomes of a step whose
// gradients are not finite. (Micikevicius et al., "Mixed precision training", 2018, sections 3.2 and 4.)
#pragma once

#include <cstdint>

namespace klab::learning {

struct LossScaleSettings {
  bool dynamic = true;                    // false: `start`, always
  double start = 65536;                   // above 0
  int64_t grow_after = 2000;              // finite steps in a row before the scale doubles
  double grow = 2;                        // above 1
  double back_off = 0.5;                  // between 0 and 1, on a step that is not finite
  double most = 0x1p24, least = 0x1p-24;  // between which a dynamic scale stays; start may lie above
};

class LossScale {
 public:
  /// Where it is, for a checkpoint.
  struct State {
    double value = 1;
    int64_t good = 0;      // finite steps since the scale last changed
    int64_t skipped = 0;   // steps, all in all
    int64_t in_a_row = 0;  // of these, those since the last finite one
  };

  /// Throws std::invalid_argument, naming the option, for a scale that is 0, negative, infinite or NaN, and for factors
  /// and counts that would not grow or not back off.
  explicit LossScale(const LossScaleSettings& settings);

  double value() const { return state_.value; }
  const State& state() const { return state_; }
  /// Throws std::invalid_argument for a state that no run leaves.
  void restore(const State& state);

  /// After each backward pass: whether all gradients are finite. Returns whether to take the step.
  bool update(bool finite);

 private:
  LossScaleSettings settings_;
  State state_;
};

}  // namespace klab::learning
