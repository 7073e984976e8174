// Contract of swiglu_bwd: gradients of y = a·s·b with s = sigmoid(a),
//
//   d_a = d_y·b·s·(1 + a·(1 - s)),    d_b = d_y·a·s.
//
// Tensors keep the forward's names, and the gradient with respect to "a" is "d_a": from these names the gradient check
// knows what to differentiate.
#pragma once

#include "reference/swiglu_fwd/swiglu_fwd.h"

namespace klab {

struct SwigluBwd {
  static constexpr std::string_view name = "swiglu_bwd";
  static constexpr std::array dims = {"n"};
  using Forward = SwigluFwd;
  using Shape = SwigluFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* a;    // [n] f32
    const T* b;    // [n] f32
    const T* d_y;  // [n] f32
    T* d_a;        // [n] f32, written (=)
    T* d_b;        // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    visit("a", args.a, Role::input, Draw::real, {args.shape.n});
    visit("b", args.b, Role::input, Draw::real, {args.shape.n});
    visit("d_y", args.d_y, Role::input, Draw::real, {args.shape.n});
    visit("d_a", args.d_a, Role::output, Draw::real, {args.shape.n});
    visit("d_b", args.d_b, Role::output, Draw::real, {args.shape.n});
  }

  /// 12 bytes in and 8 out; one exponential, as 16 operations, and one division serve s and 1 - s.
  static Cost cost(const Shape& s) {
    const double n = double(s.n);
    return {.bytes = 20 * n, .flops = 26 * n, .transcendentals = n, .divisions = n};
  }

  /// As the forward, with a sum and three products more.
  static double terms(const Shape&) { return 12; }

  /// magnitude: every term of a sum by its absolute value, |d_y·b|·s·(1 + |a|·(1 - s)) and |d_y·a|·s.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
