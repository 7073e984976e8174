// Contract of pixel_loss_bwd: gradient of the pixel loss with respect to the prediction.
//
// l'(e) = 2e for kind 0 and clamp(e, -d, d) for the others; a third of it, times d_loss, for each channel.
#pragma once

#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"

namespace klab {

struct PixelLossBwd {
  static constexpr std::string_view name = "pixel_loss_bwd";
  static constexpr std::array dims = {"n", "kind"};
  using Forward = PixelLossFwd;
  using Shape = PixelLossFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* prediction;  // [3,n] f32
    const T* target;      // [3,n] f32
    const T* d_loss;      // [n] f32
    T* d_prediction;      // [3,n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("prediction", args.prediction, Role::input, Draw::real, {3, n});
    visit("target", args.target, Role::input, Draw::real, {3, n});
    visit("d_loss", args.d_loss, Role::input, Draw::real, {n});
    visit("d_prediction", args.d_prediction, Role::output, Draw::real, {3, n});
  }

  static bool valid(const Shape& s) { return PixelLossFwd::valid(s); }

  /// 28 bytes in, 12 out; four operations per channel.
  static Cost cost(const Shape& s) { return {40.0 * double(s.n), 12.0 * double(s.n)}; }

  /// The difference, 1/3, and two products.
  static double terms(const Shape&) { return 4; }

  /// magnitude = |gradient|.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
