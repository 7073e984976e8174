// Contract of window_sum: the sum over a window around every element.
//
//   y[i] = sum of x[j] over j = i-r .. i+r,   with x[j] = 0 outside 0 .. n-1
//
// The window does not shrink at the ends, it reads zeros there: a box filter without its division.
#pragma once

#include "reference/contract.h"

namespace klab {

struct WindowSum {
  static constexpr std::string_view name = "window_sum";
  static constexpr std::array dims = {"n", "r"};

  struct Shape {
    int64_t n;  // elements
    int64_t r;  // radius: a window has 2r+1 elements; any r >= 0, also one beyond n
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;  // [n] f32, input
    T* y;        // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("x", args.x, Role::input, Draw::real, {n});
    visit("y", args.y, Role::output, Draw::real, {n});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.r >= 0; }

  /// x read once, y written once. Two additions an element are enough for any radius but 0: one takes a
  /// neighbor in, one joins the two halves of a window (reference: van Herk 1992, Gil and Werman 1993).
  static Cost cost(const Shape& s) { return {8.0 * double(s.n), s.r == 0 ? 0.0 : 2.0 * double(s.n)}; }

  /// A sum of at most this many terms, in any order.
  static double terms(const Shape& s) {
    const double window = 2 * double(s.r) + 1;
    return window < double(s.n) ? window : double(s.n < 1 ? 1 : s.n);
  }

  /// Among huge inputs one in four windows' lengths stays huge, and the others become ordinary numbers: most
  /// windows hold no huge number, and one that has passed by must leave nothing behind, not even in double.
  static void arrange(const Args<float>& x, Generator& random);

  /// magnitude.y[i] = sum of |x[j]| over the same window. Only elements in the window count: a variant that
  /// lets an element in and out again must not leave its rounding errors behind.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
