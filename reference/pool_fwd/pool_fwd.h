// Contract of pool_fwd: each channel reduced to the maximum, or the average, of windows.
//
//   kind 0, maximum           y[i,j] = max of x over the window
//   kind 1, average           y[i,j] = sum of x over the window / number of its pixels inside the image
//   kind 2, padding counted   y[i,j] = sum of x over the window / (r·s)
//
// The window of output (i,j) is rows i·stride_y − pad_y + u, 0 <= u < r, and columns j·stride_x − pad_x + v,
// 0 <= v < s. Its part outside the image is not read: a maximum of negative numbers stays negative at the
// border. Where `border` is not 0, that part holds what pad2d_fwd has there, and belongs to the window like any pixel: kinds 1 and 2
// are the same then.
#pragma once

#include <algorithm>

#include "reference/contract.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab {

/// Sizes that the forward and the backward share.
struct PoolShape {
  int64_t n, c;                // images, channels
  int64_t h, w;                // rows and columns of the input, at least 1
  int64_t r, s;                // rows and columns of the window, at least 1
  int64_t stride_y, stride_x;  // at least 1
  int64_t pad_y, pad_x;        // less than r and s, so that no window lies outside altogether
  int64_t kind;                // 0 maximum, 1 average, 2 average with padding counted
  int64_t nhwc;                // layout of x and y: 0 [n,channel,row,column], 1 [n,row,column,channel]
  int64_t border = 0;  // 0: nothing is outside; or a kind of PadShape other than zeros; may be left out

  constexpr int64_t oh() const { return (h + 2 * pad_y - r) / stride_y + 1; }  // rows of the output
  constexpr int64_t ow() const { return (w + 2 * pad_x - s) / stride_x + 1; }  // columns of the output
  constexpr bool is_max() const { return kind == 0; }

  /// The border around the pictures of a call, one for each image and channel.
  constexpr PadShape pad() const { return {n * c, h, w, pad_y, pad_x, border}; }
  /// The same windows on pictures that have their border already.
  constexpr PoolShape bordered() const {
    PoolShape of = *this;
    of.h = h + 2 * pad_y;
    of.w = w + 2 * pad_x;
    of.pad_y = of.pad_x = of.border = 0;
    return of;
  }

  constexpr int64_t x_at(int64_t image, int64_t channel, int64_t row, int64_t column) const {
    return at(image, channel, row, column, h, w);
  }
  constexpr int64_t y_at(int64_t image, int64_t channel, int64_t row, int64_t column) const {
    return at(image, channel, row, column, oh(), ow());
  }
  Dims x_dims() const { return nhwc != 0 ? Dims{n, h, w, c} : Dims{n, c, h, w}; }
  Dims y_dims() const { return nhwc != 0 ? Dims{n, oh(), ow(), c} : Dims{n, c, oh(), ow()}; }

  /// The part of a window inside the image, along one axis: inputs [begin, end), never empty.
  struct Range {
    int64_t begin, end;
  };
  constexpr Range rows(int64_t i) const { return inside(i * stride_y - pad_y, r, h); }
  constexpr Range columns(int64_t j) const { return inside(j * stride_x - pad_x, s, w); }
  /// Divisor of an average.
  constexpr int64_t divisor(Range down, Range across) const {
    return kind == 2 ? r * s : (down.end - down.begin) * (across.end - across.begin);
  }

  bool valid() const {
    return std::min({n, c, pad_y, pad_x, kind, nhwc}) >= 0 && kind <= 2 && nhwc <= 1 &&
           (border == 0 || pad().valid()) && std::min({h, w, r, s, stride_y, stride_x}) >= 1 && pad_y < r &&
           pad_x < s && h + 2 * pad_y >= r && w + 2 * pad_x >= s;
  }

 private:
  static constexpr Range inside(int64_t from, int64_t length, int64_t size) {
    return {std::max<int64_t>(from, 0), std::min(from + length, size)};
  }
  constexpr int64_t at(int64_t image, int64_t channel, int64_t row, int64_t column, int64_t height,
                       int64_t width) const {
    return nhwc != 0 ? ((image * height + row) * width + column) * c + channel
                     : ((image * c + channel) * height + row) * width + column;
  }
};

struct PoolFwd {
  /// In a window with 0 and -0, the order in which rows and columns are reduced decides which is the largest.
  static constexpr bool zeros_alike = true;
  static constexpr std::string_view name = "pool_fwd";
  static constexpr std::array dims = {"n",        "c",     "h",     "w",    "r",    "s",     "stride_y",
                                      "stride_x", "pad_y", "pad_x", "kind", "nhwc", "border"};
  static constexpr std::array optional = {"border"};
  using Shape = PoolShape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;  // [n,c,h,w], or [n,h,w,c] where nhwc = 1; f32, input
    T* y;        // [n,c,oh,ow], or [n,oh,ow,c]; f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    visit("x", args.x, Role::input, Draw::real, args.shape.x_dims());
    visit("y", args.y, Role::output, Draw::real, args.shape.y_dims());
  }

  static bool valid(const Shape& s) { return s.valid(); }

  /// Input read and output written once; rows of a window are reduced once for all windows that share them,
  /// then columns: r − 1 and s − 1 operations, and for an average a multiplication by 1/divisor. A mean around takes an addition a
  /// pixel.
  static Cost cost(const Shape& s) {
    const double planes = double(s.n) * double(s.c), y = planes * double(s.oh()) * double(s.ow());
    const double reduced_rows = planes * double(s.oh()) * double(s.w);
    const double x = planes * double(s.h) * double(s.w), mean = s.border == PadShape::mean ? x : 0;
    return {.bytes = 4 * (x + y),
            .flops = double(s.r - 1) * reduced_rows + double(s.s - 1) * y + (s.is_max() ? 0 : y) + mean};
  }

  /// A maximum is exact. An average sums r·s terms and is multiplied by a rounded reciprocal. A mean around has errors of its own.
  static double terms(const Shape& s) {
    return (s.is_max() ? 0 : double(s.r * s.s + 1)) + Pad2dFwd::terms(s.pad());
  }

  /// x.y as above; magnitude.y the same of |x|.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
