// Learning-rate schedules: a factor for each step.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace klab::learning {

/// Returns the factor at `done`, the completed fraction of the training, in [0,1].
///   constant   1
///   linear     from 1 to 0
///   cosine     (1 + cos(pi·done))/2, from 1 to 0 (Loshchilov and Hutter 2017)
///   steps      1, then 0.1 from half of the training on, 0.01 in its last quarter
///   onecycle   up to 1 in the first third, down to 0 in the rest (Smith 2018)
inline double schedule_factor(const std::string& name, double done) {
  const double t = std::clamp(done, 0.0, 1.0);
  if (name == "constant") return 1;
  if (name == "linear") return 1 - t;
  if (name == "cosine") return 0.5 * (1 + std::cos(M_PI * t));
  if (name == "steps") return t < 0.5 ? 1 : t < 0.75 ? 0.1 : 0.01;
  if (name == "onecycle") return t < 1.0 / 3 ? std::max(0.05, 3 * t) : 1.5 * (1 - t);
  throw std::invalid_argument("no schedule is called " + name +
                              ": constant, linear, cosine, steps or onecycle");
}

}  // namespace klab::learning
