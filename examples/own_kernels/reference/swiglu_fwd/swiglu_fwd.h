// Contract of swiglu_fwd: a gated unit, y = silu(a)·b with silu(a) = a·sigmoid(a) (Shazeer 2020, GLU Variants Improve
// Transformer, equation 6, of two products that are already there).
#pragma once

#include "reference/contract.h"

namespace klab {

struct SwigluFwd {
  static constexpr std::string_view name = "swiglu_fwd";
  static constexpr std::array dims = {"n"};

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* a;  // [n] f32
    const T* b;  // [n] f32
    T* y;        // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    visit("a", args.a, Role::input, Draw::real, {args.shape.n});
    visit("b", args.b, Role::input, Draw::real, {args.shape.n});
    visit("y", args.y, Role::output, Draw::real, {args.shape.n});
  }

  /// 8 bytes in and 4 out; one exponential, as 16 operations, and one division.
  static Cost cost(const Shape& s) {
    const double n = double(s.n);
    return {.bytes = 12 * n, .flops = 20 * n, .transcendentals = n, .divisions = n};
  }

  /// The exponential errs by 2u of itself, sum, division and two products by u each.
  static double terms(const Shape&) { return 8; }

  /// magnitude = |y|.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
