// Contract of opacity_entropy_fwd: a penalty for rays that are neither opaque nor empty.
//
//   o = opacity + 1e-10,    loss = -o·ln o
//
// (ngp_pl, losses.py.) 0 for an empty ray and for an opaque one; it pushes rays to either.
#pragma once

#include "reference/contract.h"

namespace klab {

struct OpacityEntropyFwd {
  static constexpr std::string_view name = "opacity_entropy_fwd";
  static constexpr std::array dims = {"rays"};
  static constexpr double floor = 1e-10F;  // as the float that variants add

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
    return {.bytes = 8 * rays, .flops = 18 * rays, .transcendentals = rays};
  }

  /// o errs by u, which moves o·ln o by u·o·(|ln o| + 1); the logarithm by 2u of itself, the product by u.
  static double terms(const Shape&) { return 4; }

  /// Draws, if widely, rays that are completely empty or completely opaque.
  static void arrange(const Args<float>& x, Generator& random);
  /// magnitude = o·(|ln o| + 1).
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
