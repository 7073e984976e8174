// Contract of pixel_loss_fwd: the loss of a pixel, the mean over its three channels of l(prediction -
// target).
//
//   kind 0  mean squared error   l(e) = e^2
//   kind 1  Huber, d = 0.1       l(e) = e^2/2 where |e| <= d, else d·(|e| - d/2)     (Huber 1964)
//   kind 2  smooth L1            the same with d = 1               (Girshick 2015, Fast R-CNN)
#pragma once

#include "reference/contract.h"

namespace klab {

struct PixelLossFwd {
  static constexpr std::string_view name = "pixel_loss_fwd";
  static constexpr std::array dims = {"n", "kind"};

  struct Shape {
    int64_t n;     // pixels
    int64_t kind;  // 0, 1, 2 as above
  };

  /// Error at which the loss turns from a parabola into a line; kind 0 never does.
  static constexpr float turn(int64_t kind) { return kind == 1 ? 0.1F : 1.0F; }

  template <class T>
  struct Args {
    Shape shape;
    const T* prediction;  // [3,n] f32
    const T* target;      // [3,n] f32
    T* loss;              // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("prediction", args.prediction, Role::input, Draw::real, {3, n});
    visit("target", args.target, Role::input, Draw::real, {3, n});
    visit("loss", args.loss, Role::output, Draw::real, {n});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.kind >= 0 && s.kind <= 2; }

  /// 24 bytes in and 4 out; a difference, about four operations and a sum a channel.
  static Cost cost(const Shape& s) { return {28.0 * double(s.n), 18.0 * double(s.n)}; }

  /// The difference is rounded once and squared (2u), then up to three products (3u), two sums and the third
  /// (3u).
  static double terms(const Shape&) { return 8; }

  /// magnitude = mean of e^2, or of d·(|e| + d/2) on the line. Both sides meet at the turn, so a variant may
  /// take either there.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
