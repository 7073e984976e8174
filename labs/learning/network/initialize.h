// How parameters begin.
//
// A layer of `from` inputs keeps the variance of what it passes on when its weights have variance 1/from, or 2/from behind a
// ReLU, which throws half of it away (He, Zhang, Ren and Sun, "Delving deep into rectifiers", 2015). In the other direction
// the number of outputs counts; 2/(from + to) is between the two (Glorot and Bengio, 2010).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include "harness/program/random.h"
#include "labs/learning/network/tensor.h"

namespace klab::learning {

/// Normal numbers of that variance; which ones is decided by seed and the tensor's name.
inline void draw_normal(const Tensor& t, double variance, uint64_t seed) {
  const Draws draws(seed, 0, std::hash<std::string>{}(t.name));
  const double deviation = std::sqrt(variance);
  for (int64_t i = 0; i < t.size(); ++i) {  // Box and Muller 1958
    const double u = 1 - double(draws.unit(uint64_t(2 * i))),
                 angle = 2 * M_PI * double(draws.unit(uint64_t(2 * i + 1)));
    t.value[i] = float(deviation * std::sqrt(-2 * std::log(u)) * std::cos(angle));
  }
}

inline double kaiming(int64_t from) { return 2.0 / double(from); }
inline double xavier(int64_t from, int64_t to) { return 2.0 / double(from + to); }

}  // namespace klab::learning
