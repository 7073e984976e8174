// Contract of sample_weights_fwd: the weight of each sample of a ray: w_i = T_i - T_{i+1}, with T_{i+1} =
// exp(-sum_{j<=i} exp(raw_j)·delta_j).
#pragma once

#include "reference/contract.h"

namespace klab {

struct SampleWeightsFwd {
  static constexpr std::string_view name = "sample_weights_fwd";
  static constexpr std::array dims = {"rays", "samples"};

  struct Shape {
    int64_t rays;
    int64_t samples;
  };

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* ray_begin;  // [rays+1] i32
    const T* density_raw;      // [samples] f32, logarithm of the density
    const T* delta;            // [samples] f32
    T* weights;                // [samples] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("density_raw", args.density_raw, Role::input, Draw::real, {s.samples});
    visit("delta", args.delta, Role::input, Draw::arranged, {s.samples});
    visit("weights", args.weights, Role::output, Draw::real, {s.samples});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.samples >= 0 && (s.rays > 0 || s.samples == 0);
  }

  /// Two numbers in and one out a sample, two exponentials.
  static Cost cost(const Shape& s) {
    return {.bytes = 12 * double(s.samples) + 4 * double(s.rays),
            .flops = 34 * double(s.samples),
            .transcendentals = 2 * double(s.samples)};
  }

  /// Coefficient of u: four for each exponential, and the roundings of the sums and the difference.
  static double terms(const Shape&) { return 24; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
