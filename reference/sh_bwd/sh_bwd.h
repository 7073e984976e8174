// Contract of sh_bwd: gradient of the spherical harmonics with respect to the direction.
#pragma once

#include "reference/sh_fwd/sh_fwd.h"

namespace klab {

struct ShBwd {
  static constexpr std::string_view name = "sh_bwd";
  static constexpr std::array dims = {"n", "degree"};
  using Forward = ShFwd;
  using Shape = ShFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* directions;  // [3,n] f32
    const T* d_basis;     // [degree^2,n] f32, gradient of the loss with respect to the basis
    T* d_directions;      // [3,n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, degree] = args.shape;
    visit("directions", args.directions, Role::input, Draw::real, {3, n});
    visit("d_basis", args.d_basis, Role::input, Draw::real, {degree * degree, n});
    visit("d_directions", args.d_directions, Role::output, Draw::real, {3, n});
  }

  static bool valid(const Shape& s) { return ShFwd::valid(s); }

  /// Directions and gradients in, three floats out. At degree 4, with common products taken once: 75
  /// operations.
  static Cost cost(const Shape& s) {
    constexpr double flops[] = {0, 0, 3, 24, 75};
    return {double(s.n) * (24 + 4 * double(s.degree * s.degree)), double(s.n) * flops[s.degree]};
  }

  /// At most 14 terms in a sum and five roundings in each.
  static double terms(const Shape&) { return 19; }

  /// magnitude = sum of the absolute terms.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
