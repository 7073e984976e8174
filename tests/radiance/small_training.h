// A trainer small enough for tests: its configuration and its scene.
#pragma once

#include "labs/radiance/train/trainer.h"

namespace klab {

inline Config small_config() {
  Config c;
  c.levels = 6;
  c.log2_table = 12;
  c.finest_resolution = 128;
  c.batch_samples = 4096;
  c.first_rays = 64;
  c.grid = 32;
  c.steps_per_diagonal = 128;
  c.width = 16;
  return c;
}

/// Smaller still: for the host executor of CUDA rungs.
inline Config tiny_config() {
  Config c = small_config();
  c.levels = 4;
  c.log2_table = 9;
  c.finest_resolution = 64;
  c.batch_samples = 256;
  c.first_rays = 16;
  c.max_samples_per_ray = 64;
  c.grid = 16;
  c.grid_every = 8;
  c.grid_warmup = 16;
  c.steps_per_diagonal = 32;
  return c;
}

/// Gives every term of the loss this weight.
inline void weigh_all_terms(LossSettings& settings, double weight) {
  for (const LossTerm& each : loss_terms()) settings.*each.weight = weight;
}

/// The calls of a step with every term of the loss.
inline std::vector<PlannedCall> small_calls() {
  Config c = small_config();
  weigh_all_terms(c, 1);
  return training_calls(c, 1);
}

/// Nothing is measured: klab's later rungs pass for faster than its earlier ones, and those for faster than a
/// vendor's. Choices by measurement are covered by the tests of plans and of the program.
inline CallTimes later_is_faster() {
  return CallTimes({}, [](const auto&, const auto&, auto variants) -> CallTimes::Measured {
    std::vector<double> seconds;
    for (const Variant* v : variants) seconds.push_back(v->peer ? 1 : 1.0 / double(2 + seconds.size()));
    return seconds;
  });
}

/// The plan for a step without terms of opacity and depth, with the op that does four in one, or without it.
inline Plan plan_with(const VariantIds& variants) {
  static CallTimes times = later_is_faster();
  Config c = small_config();
  c.distortion = 1;
  return Plan::fixed(variants, "of a test", training_calls(c, 1), times);
}

/// Made once in a process.
inline const Plan& small_plan(const std::string& name = "best") {
  static std::map<std::string, Plan> plans;
  static CallTimes times = later_is_faster();
  const auto calls = small_calls();
  if (!plans.contains(name)) plans.emplace(name, Plan::named(name, calls, times));
  return plans.at(name);
}

inline const Scene& small_scene() {
  static const Scene scene = built_in_scene({.downscale = 16});
  return scene;
}

}  // namespace klab
