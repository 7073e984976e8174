// A hash field that learns a small scene in seconds, for experiments on bits and sizes.
#pragma once

#include <memory>

#include "labs/radiance/train/trainer.h"

namespace klab::learning {

class SmallField {
 public:
  explicit SmallField(uint64_t seed);

  /// So many steps with these bits, from the beginning.
  std::unique_ptr<klab::Trainer> trained(int64_t steps, const StepPrecision& precision = {}) const;
  /// One that has done nothing yet.
  std::unique_ptr<klab::Trainer> trainer(const StepPrecision& precision = {}) const;
  /// Of the test views, mean, in dB.
  double psnr(const Model& model) const;
  /// The PSNR of what a training with these bits comes to; NaN where it ended for what is not finite.
  double psnr_of(int64_t steps, const StepPrecision& precision) const;

  Config config;
  Scene scene;

 private:
  uint64_t seed_;
};

/// "f16 with a dynamic scale": scales gradients, if there is a format for them.
StepPrecision with_dynamic_scale(const StepFormats& formats);
StepPrecision with_static_scale(const StepFormats& formats, double scale);

}  // namespace klab::learning
