// The factor on the loss that keeps small gradients from vanishing in half precision, and what becomes of a step whose
// gradients are not finite. (Micikevicius et al., "Mixed precision training", 2018, sections 3.2 and 4.)
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace klab {

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
  /// Steps without a finite gradient, one after the other, after which a run may give up.
  static constexpr int64_t kMostSkipped = 64;

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

  bool hopeless() const { return state_.in_a_row >= kMostSkipped; }

  /// After each backward pass: whether all gradients are finite. Returns whether to take the step.
  bool update(bool finite);

 private:
  LossScaleSettings settings_;
  State state_;
};

/// What the command line says: `text` is --loss-scale, "dynamic" or a number. Throws std::invalid_argument for what is neither; what the
/// number may be, LossScale says.
void set_loss_scale(LossScaleSettings& settings, const std::string& text);

/// For metadata, and back. from_json() throws std::runtime_error, "<where>: ...", for a member that is missing, no number, or out of range.
nlohmann::json to_json(const LossScaleSettings& settings);
nlohmann::json to_json(const LossScale::State& state);
LossScaleSettings loss_scale_settings_from(const nlohmann::json& json, const std::string& where);
LossScale::State loss_scale_state_from(const nlohmann::json& json, const std::string& where);

}  // namespace klab
