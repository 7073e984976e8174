// Contract of pool_bwd: the gradient of a loss with respect to the pool's input.
//
//   maximum    d_y goes to the largest pixel of its window; where several are largest, to the first of them in row-major
//              order (the smallest row, in it the smallest column). The others of the window get nothing from it.
//   average    d_y / divisor goes to each pixel of the window inside the image, the divisor as in the forward.
//
// A pixel gets the sum over all windows that it lies in, zero where none reaches. The maximum is found again
// from x: nothing is kept by the forward. Where `border` is not 0, windows are those of the picture with its border, and what a place
// of the border gets goes to the pixels that it shows, as in pad2d_bwd.
#pragma once

#include "reference/pad2d_bwd/pad2d_bwd.h"
#include "reference/pool_fwd/pool_fwd.h"

namespace klab {

struct PoolBwd {
  using Forward = PoolFwd;
  static constexpr std::string_view name = "pool_bwd";
  static constexpr std::array dims = PoolFwd::dims;
  static constexpr std::array optional = PoolFwd::optional;
  using Shape = PoolShape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;    // [n,c,h,w], or [n,h,w,c] where nhwc = 1; f32, input; an average does not need it
    const T* d_y;  // layout of y, f32, input
    T* d_x;        // layout of x, f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    visit("x", args.x, Role::input, Draw::real, args.shape.x_dims());
    visit("d_y", args.d_y, Role::input, Draw::real, args.shape.y_dims());
    visit("d_x", args.d_x, Role::output, Draw::real, args.shape.x_dims());
  }

  static bool valid(const Shape& s) { return s.valid(); }

  /// d_y read and d_x written once, and for a maximum x read, r·s − 1 comparisons and an addition a window; for an average
  /// a multiplication, and an addition for each pixel of the window. A mean around, and its gradient, take an addition a pixel each.
  static Cost cost(const Shape& s) {
    const double planes = double(s.n) * double(s.c), y = planes * double(s.oh()) * double(s.ow());
    const double x = planes * double(s.h) * double(s.w), taps = double(s.r * s.s);
    const double mean = s.border == PadShape::mean ? (s.is_max() ? 2 * x : x) : 0;
    return {.bytes = 4 * (y + (s.is_max() ? 2 * x : x)), .flops = (s.is_max() ? taps : taps + 1) * y + mean};
  }

  /// A pixel lies in at most ⌈r/stride⌉·⌈s/stride⌉ windows; an average is multiplied by a rounded reciprocal.
  static double terms(const Shape& s) {
    const int64_t down = (s.r + s.stride_y - 1) / s.stride_y, across = (s.s + s.stride_x - 1) / s.stride_x;
    return double(down * across + 1) + (s.border != 0 ? Pad2dBwd::terms(s.pad()) : 0);
  }

  /// x.d_x as above; magnitude.d_x the same of |d_y|.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
