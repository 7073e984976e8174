// Initial values of parameters.
//
// A layer of `from` inputs preserves the variance if its weights have variance 1/from, or 2/from after a
// ReLU, which discards half of it (He, Zhang, Ren and Sun, "Delving deep into rectifiers", 2015). In the
// backward direction the number of outputs counts; 2/(from + to) is a compromise (Glorot and Bengio, 2010).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include "harness/program/random.h"
#include "labs/learning/network/tensor.h"

namespace klab::learning {

/// Draws normal numbers of that variance; they depend on the seed and the tensor's name.
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
