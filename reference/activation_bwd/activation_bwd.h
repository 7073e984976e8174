// Contract of activation_bwd: the gradient times the slope of the function at x.
//
//   d_x = d_y·f'(x)            f as in activation_fwd; the slope of relu at 0 is 0
#pragma once

#include "reference/activation_fwd/activation_fwd.h"

namespace klab {

struct ActivationBwd {
  static constexpr std::string_view name = "activation_bwd";
  static constexpr std::array dims = {"n", "kind"};
  using Forward = ActivationFwd;
  using Shape = ActivationFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;    // [n] f32, as in the forward
    const T* d_y;  // [n] f32
    T* d_x;        // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("x", args.x, Role::input, Draw::real, {n});
    visit("d_y", args.d_y, Role::input, Draw::real, {n});
    visit("d_x", args.d_x, Role::output, Draw::real, {n});
  }

  static bool valid(const Shape& s) { return ActivationFwd::valid(s); }

  /// x and d_y read, d_x written. A slope takes no more exponentials than a value, and a few operations more; of softplus it
  /// is the sigmoid.
  static Cost cost(const Shape& s) {
    const double n = double(s.n);
    const int64_t kind = s.kind == activation::softplus ? activation::sigmoid : s.kind;
    return {.bytes = 12 * n,
            .flops = n * (activation::flops(kind) + 3),
            .transcendentals = n * activation::transcendentals(kind),
            .divisions = n * activation::divisions(kind)};
  }

  static double terms(const Shape& s) { return ActivationFwd::terms(s); }

  static void reference(const Args<double>& x, const Args<double>& magnitude) {
    for (int64_t i = 0; i < x.shape.n; ++i) {
      const auto [slope, size] = activation::slope(x.shape.kind, x.x[i]);
      const double d_y = x.d_y[i];
      x.d_x[i] = d_y * slope;
      // Where the slope itself errs by less than a denormal, its product with d_y may still be one: 2^-126 for that.
      magnitude.d_x[i] = std::abs(d_y) * (size + std::abs(slope)) + 0x1p-126;
    }
  }
};

}  // namespace klab
