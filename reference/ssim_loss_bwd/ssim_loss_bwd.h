// Contract of ssim_loss_bwd: the gradient of ssim_loss_fwd with respect to the picture.
//
// S at pixel q depends on x by E[x], E[x^2] and E[xy] over the window there. With S_1, S_2, S_3 its slopes by these and w
// the window, which is symmetric,
//   d_image(p) = d_loss/(3·pixels) · ( (1 - weight)·sign(x - y)
//                - weight·( (w*S_1)(p) + 2·x(p)·(w*S_2)(p) + y(p)·(w*S_3)(p) ) )
// with sign(0) = 0: three maps, blurred as the moments were.
#pragma once

#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

namespace klab {

struct SsimLossBwd {
  using Forward = SsimLossFwd;
  static constexpr std::string_view name = "ssim_loss_bwd";
  static constexpr std::array dims = {"width", "height"};
  using Shape = SsimLossFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* weight;  // [1] f32, in [0,1]
    const T* image;   // [3,height,width] f32
    const T* target;  // [3,height,width] f32
    const T* d_loss;  // [1] f32
    T* d_image;       // [3,height,width] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("weight", args.weight, Role::input, Draw::unit, {1});
    visit("image", args.image, Role::input, Draw::unit, {3, s.height, s.width});
    visit("target", args.target, Role::input, Draw::unit, {3, s.height, s.width});
    visit("d_loss", args.d_loss, Role::input, Draw::real, {1});
    visit("d_image", args.d_image, Role::output, Draw::real, {3, s.height, s.width});
  }

  static bool valid(const Shape& s) { return SsimLossFwd::valid(s); }

  /// Two pictures in, one out. The forward's windows 170, three more 102, slopes 30, the rest 12.
  static Cost cost(const Shape& s) {
    const double values = 3 * double(s.pixels());
    return {.bytes = 12 * values + 8, .flops = 314 * values, .divisions = 3 * values};
  }

  static double terms(const Shape&) { return 4; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
