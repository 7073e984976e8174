// Contract of distortion_bwd: gradient of the distortion with respect to the weights.
//
//   d_w_i = d_loss·( 2·sum_j w_j·|t_i - t_j| + 2/3·w_i·delta_i )
#pragma once

#include "reference/distortion_fwd/distortion_fwd.h"

namespace klab {

struct DistortionBwd {
  static constexpr std::string_view name = "distortion_bwd";
  static constexpr std::array dims = {"rays", "samples"};
  using Forward = DistortionFwd;
  using Shape = DistortionFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* ray_begin;  // the inputs of distortion_fwd
    const T* weights;
    const T* delta;
    const T* t;
    const T* d_loss;  // [rays] f32
    T* d_weights;     // [samples] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [rays, samples] = args.shape;
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {rays + 1});
    visit("weights", args.weights, Role::input, Draw::unit, {samples});
    visit("delta", args.delta, Role::input, Draw::arranged, {samples});
    visit("t", args.t, Role::input, Draw::arranged, {samples});
    visit("d_loss", args.d_loss, Role::input, Draw::real, {rays});
    visit("d_weights", args.d_weights, Role::output, Draw::real, {samples});
  }

  static bool valid(const Shape& s) { return DistortionFwd::valid(s); }

  /// 12 bytes in and 4 out a sample, 8 in a ray; the totals and the running sums, fourteen operations.
  static Cost cost(const Shape& s) {
    return {16.0 * double(s.samples) + 8.0 * double(s.rays) + 4, 14.0 * double(s.samples)};
  }

  /// Coefficient of u in the bound of distortion_bwd.cpp; the lengths of the rays are in the magnitude.
  static double terms(const Shape&) { return 8; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
