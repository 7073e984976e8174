// Contract of depth_loss_bwd: gradient of the depth loss: d_loss·(depth - truth) where the truth is known.
#pragma once

#include "reference/depth_loss_fwd/depth_loss_fwd.h"

namespace klab {

struct DepthLossBwd {
  static constexpr std::string_view name = "depth_loss_bwd";
  static constexpr std::array dims = {"rays"};
  using Forward = DepthLossFwd;
  using Shape = DepthLossFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* depth;   // [rays] f32
    const T* truth;   // [rays] f32, 0: unknown
    const T* d_loss;  // [rays] f32
    T* d_depth;       // [rays] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("depth", args.depth, Role::input, Draw::unit, {s.rays});
    visit("truth", args.truth, Role::input, Draw::arranged, {s.rays});
    visit("d_loss", args.d_loss, Role::input, Draw::real, {s.rays});
    visit("d_depth", args.d_depth, Role::output, Draw::real, {s.rays});
  }

  /// Two depths and a gradient in, one out.
  static Cost cost(const Shape& s) { return {.bytes = 16 * double(s.rays), .flops = 2 * double(s.rays)}; }

  /// A difference and a product.
  static double terms(const Shape&) { return 3; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
