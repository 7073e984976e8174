// Contract of opacity_binary_entropy_bwd: gradient of the opacity's binary entropy, (ln(1 - o) - ln o)·d_loss with o = opacity.
//
// Opacities that the forward clamps have the gradient 0.
#pragma once

#include "reference/opacity_binary_entropy_fwd/opacity_binary_entropy_fwd.h"

namespace klab {

struct OpacityBinaryEntropyBwd {
  static constexpr std::string_view name = "opacity_binary_entropy_bwd";
  static constexpr std::array dims = {"rays"};
  using Forward = OpacityBinaryEntropyFwd;
  using Shape = OpacityBinaryEntropyFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* opacity;  // [rays] f32, in [0,1]
    const T* d_loss;   // [rays] f32
    T* d_opacity;      // [rays] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    visit("opacity", args.opacity, Role::input, Draw::unit, {args.shape.rays});
    visit("d_loss", args.d_loss, Role::input, Draw::real, {args.shape.rays});
    visit("d_opacity", args.d_opacity, Role::output, Draw::real, {args.shape.rays});
  }

  /// 8 bytes in and 4 out; a logarithm counts as 16 operations, and as one transcendental.
  static Cost cost(const Shape& s) {
    const double rays = double(s.rays);
    return {.bytes = 12 * rays, .flops = 34 * rays, .transcendentals = 2 * rays};
  }

  /// Each logarithm errs by 2u of itself, difference and product by u.
  static double terms(const Shape&) { return 4; }

  /// Draws, if widely, rays that are completely empty or completely opaque.
  static void arrange(const Args<float>& x, Generator& random);
  /// magnitude = (|ln o| + |ln(1 - o)|)·|d_loss|; 0 where the gradient is.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
