// Contract of opacity_binary_entropy_fwd: a penalty for rays that are neither opaque nor empty, the same for o and 1 - o.
//
//   o = min(max(opacity, 1e-6), 1 - 1e-6),    loss = -(o·ln o + (1 - o)·ln(1 - o))
//
// (Sun, Sun, Chen, "Direct Voxel Grid Optimization", 2022, the loss of the background's entropy.) It is largest at 1/2, ln 2.
#pragma once

#include "reference/contract.h"

namespace klab {

struct OpacityBinaryEntropyFwd {
  static constexpr std::string_view name = "opacity_binary_entropy_fwd";
  static constexpr std::array dims = {"rays"};
  static constexpr float low = 1e-6F, high = 1.0F - low;  // the range that opacities are clamped to

  struct Shape {
    int64_t rays;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* opacity;  // [rays] f32, in [0,1]
    T* loss;           // [rays] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    visit("opacity", args.opacity, Role::input, Draw::unit, {args.shape.rays});
    visit("loss", args.loss, Role::output, Draw::real, {args.shape.rays});
  }

  /// 4 bytes in and 4 out; a logarithm counts as 16 operations, and as one transcendental.
  static Cost cost(const Shape& s) {
    const double rays = double(s.rays);
    return {.bytes = 8 * rays, .flops = 38 * rays, .transcendentals = 2 * rays};
  }

  /// A logarithm errs by 2u of itself, 1 - o by u, the product and the sum by u each.
  static double terms(const Shape&) { return 5; }

  /// Draws, if widely, rays that are completely empty or completely opaque.
  static void arrange(const Args<float>& x, Generator& random);
  /// magnitude = the loss: both of its terms are positive.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
