// Contract of ssim_loss_fwd: the difference of two pictures, by absolute differences and by structural
// similarity.
//
//   loss = (1 - weight)·mean|x - y| + weight·(1 - mean S)        over all pixels and three channels
//   S = (2·mx·my + c1)·(2·cov + c2) / ((mx^2 + my^2 + c1)·(vx + vy + c2))
//
// Means, variances vx = E[x^2] - mx^2 and covariance are over a Gaussian window of 11x11 pixels, deviation
// 1.5, whose part beyond the picture counts as zeros; c1 = 0.01^2, c2 = 0.03^2. (Wang, Bovik, Sheikh,
// Simoncelli, "Image quality assessment: from error visibility to structural similarity", IEEE TIP 13(4),
// 2004. The mix of both, with weight 0.2, is that of Kerbl et al., "3D Gaussian splatting", 2023, equation
// 7.)
#pragma once

#include "reference/contract.h"

namespace klab {

struct SsimLossFwd {
  static constexpr std::string_view name = "ssim_loss_fwd";
  static constexpr std::array dims = {"width", "height"};
  static constexpr int radius = 5;
  static constexpr double c1 = 1e-4, c2 = 9e-4;
  /// The window, one axis: exp(-i^2/(2·1.5^2)) for i = -5..5, over their sum. Symmetric: [0] is the middle.
  static constexpr float window[6] = {0.266011725F,  0.213005538F,   0.10936069F,
                                      0.0360007721F, 0.00759875814F, 0.00102838008F};

  struct Shape {
    int64_t width, height;
    int64_t pixels() const { return width * height; }
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* weight;  // [1] f32, in [0,1]
    const T* image;   // [3,height,width] f32
    const T* target;  // [3,height,width] f32
    T* loss;          // [1] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("weight", args.weight, Role::input, Draw::unit, {1});
    visit("image", args.image, Role::input, Draw::unit, {3, s.height, s.width});
    visit("target", args.target, Role::input, Draw::unit, {3, s.height, s.width});
    visit("loss", args.loss, Role::output, Draw::real, {1});
  }

  static bool valid(const Shape& s) { return s.width >= 1 && s.height >= 1; }

  /// Both pictures once. Five moments by a window in two passes of 11 taps, 2 operations a tap, fewer by
  /// symmetry: 5 · 2 · 17; products 3; the quotient 20; the difference 3.
  static Cost cost(const Shape& s) {
    const double values = 3 * double(s.pixels());
    return {.bytes = 8 * values + 8, .flops = 196 * values, .divisions = values};
  }

  /// Factor on the running error of the windows as one sum of 121 taps and of the quotient. The sum over all
  /// pixels must be made of partial sums, with at most 64 roundings on the way of any term.
  static double terms(const Shape&) { return 4; }

  /// Draws pictures with a few bright spots; most differences are at least 0.01, since the kink is at 0.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
