// A hash field that learns a small scene in seconds, for experiments on bits and sizes.
#pragma once

#include <memory>

#include "labs/radiance/train/trainer.h"

namespace klab::learning {

class SmallField {
 public:
  explicit SmallField(uint64_t seed);

  /// Trains from scratch for that many steps with this precision.
  std::unique_ptr<klab::Trainer> trained(int64_t steps, const StepPrecision& precision = {}) const;
  /// Returns an untrained trainer.
  std::unique_ptr<klab::Trainer> trainer(const StepPrecision& precision = {}) const;
  /// Returns the mean PSNR over the test views, in dB.
  double psnr(const Model& model) const;
  /// Returns the PSNR after a training with this precision; NaN if it ended because values were not finite.
  double psnr_of(int64_t steps, const StepPrecision& precision) const;

  Config config;
  Scene scene;

 private:
  uint64_t seed_;
};

/// Scales the gradients dynamically if they have a format: "f16 with a dynamic scale".
StepPrecision with_dynamic_scale(const StepFormats& formats);
StepPrecision with_static_scale(const StepFormats& formats, double scale);

}  // namespace klab::learning
