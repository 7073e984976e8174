// Contract of distortion_fwd: the spread of a ray's weights.
//
//   loss = sum_i sum_j w_i·w_j·|t_i - t_j| + 1/3·sum_i w_i^2·delta_i
//
// (Barron et al., "Mip-NeRF 360", 2022, equation 15, with unscaled distances.) As a loss it pulls a ray's
// weights together, against floaters and half-transparent walls.
#pragma once

#include "reference/contract.h"

namespace klab {

struct DistortionFwd {
  static constexpr std::string_view name = "distortion_fwd";
  static constexpr std::array dims = {"rays", "samples"};

  struct Shape {
    int64_t rays, samples;  // samples: of all rays together
  };

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* ray_begin;  // [rays+1] i32, ascending from 0 to samples
    const T* weights;          // [samples] f32, >= 0
    const T* delta;            // [samples] f32, >= 0, length of the interval
    const T* t;                // [samples] f32, >= 0, its middle, ascending along a ray
    T* loss;                   // [rays] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [rays, samples] = args.shape;
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {rays + 1});
    visit("weights", args.weights, Role::input, Draw::unit, {samples});
    visit("delta", args.delta, Role::input, Draw::arranged, {samples});
    visit("t", args.t, Role::input, Draw::arranged, {samples});
    visit("loss", args.loss, Role::output, Draw::real, {rays});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.samples >= 0 && s.samples < (int64_t(1) << 31) && (s.rays > 0 || s.samples == 0);
  }

  /// 12 bytes in a sample, 4 in and 4 out a ray; two running sums, eleven operations.
  static Cost cost(const Shape& s) {
    return {12.0 * double(s.samples) + 8.0 * double(s.rays) + 4, 11.0 * double(s.samples)};
  }

  /// Coefficient of u in the bound of distortion_fwd.cpp; the lengths of the rays are in the magnitude.
  static double terms(const Shape&) { return 8; }

  /// Draws rays and distances like composite_fwd.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
