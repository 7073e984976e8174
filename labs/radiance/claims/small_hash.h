// What experiments on training share: a hash field that learns a small scene in seconds, and words for a ratio.
#pragma once

#include <string>
#include <vector>

#include "labs/learning/experiments/experiment.h"
#include "labs/radiance/train/trainer.h"

namespace klab::learning {

Config small_hash();

/// The plan for training and pictures with these settings, which is the same on every machine.
Plan small_plan(const Config& config, int cascades);

/// What is said is a factor of `least` or more: held where it is reached, refuted where not half of the gain is.
Finding reached(double factor, double least);

/// The median of the rounds between the least and the largest of them.
Measured measured(const std::string& metric, std::vector<double> rounds);

}  // namespace klab::learning
