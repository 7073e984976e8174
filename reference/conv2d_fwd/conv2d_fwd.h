// Contract of conv2d_fwd: a layer of two-dimensional convolutions with bias.
//
//   y[n,g·K+k,i,j] = b[g·K+k] + Σ_c Σ_u Σ_v w[g·K+k,c,u,v] · x[n,g·C+c, i·stride_y + u·dilation_y − pad_y,
//                                                                     j·stride_x + v·dilation_x − pad_x]
//
// with x = 0 outside of the image (zero padding), or, where `border` is not 0, what pad2d_fwd has there: the nearest pixel, the
// other side, the mirrored picture, or the channel's mean in that image. The sum runs over the kernel as stored, not flipped: a
// convolution of deep learning is a cross-correlation. Channels come in `groups` that do not see each other:
// C = c input channels and K = k output channels in each, so that c and k are those of the whole layer where
// groups = 1, and a depthwise layer has groups = channels and c = k = 1.
#pragma once

#include <algorithm>

#include "reference/contract.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab {

/// Sizes that the forward and the backward share.
struct Conv2dShape {
  int64_t n;                       // images
  int64_t groups;                  // of channels, at least 1
  int64_t c, k;                    // input and output channels of one group
  int64_t h, w;                    // rows and columns of the input
  int64_t r, s;                    // rows and columns of the kernel, at least 1
  int64_t stride_y, stride_x;      // at least 1
  int64_t pad_y, pad_x;            // rows above and below, columns to the left and to the right
  int64_t dilation_y, dilation_x;  // distance between taps, 1: neighbors
  int64_t nhwc;                    // layout of x and y: 0 [n,channel,row,column], 1 [n,row,column,channel]
  int64_t border = 0;  // a kind of PadShape, of the rows and columns around the image; may be left out

  constexpr int64_t oh() const { return outputs(h, r, stride_y, pad_y, dilation_y); }  // rows of the output
  constexpr int64_t ow() const {
    return outputs(w, s, stride_x, pad_x, dilation_x);
  }  // columns of the output
  constexpr int64_t in_channels() const { return groups * c; }
  constexpr int64_t out_channels() const { return groups * k; }
  constexpr int64_t taps() const { return r * s; }

  /// Where pixel (row, column) of a channel lies in x; y alike, with out_channels(), oh(), ow().
  constexpr int64_t x_at(int64_t image, int64_t channel, int64_t row, int64_t column) const {
    return at(image, channel, row, column, in_channels(), h, w);
  }
  constexpr int64_t y_at(int64_t image, int64_t channel, int64_t row, int64_t column) const {
    return at(image, channel, row, column, out_channels(), oh(), ow());
  }
  /// The border around the pictures of a call, one for each image and channel.
  constexpr PadShape pad() const { return {n * in_channels(), h, w, pad_y, pad_x, border}; }
  /// The same layer on pictures that have their border already.
  constexpr Conv2dShape bordered() const {
    Conv2dShape of = *this;
    of.h = h + 2 * pad_y;
    of.w = w + 2 * pad_x;
    of.pad_y = of.pad_x = of.border = 0;
    return of;
  }
  Dims x_dims() const { return dims_of(in_channels(), h, w); }
  Dims y_dims() const { return dims_of(out_channels(), oh(), ow()); }
  Dims w_dims() const { return {out_channels(), c, r, s}; }

  bool valid() const {
    return std::min({n, c, k, h, w, pad_y, pad_x, nhwc}) >= 0 && nhwc <= 1 &&
           (border == 0 || pad().valid()) &&
           std::min({groups, r, s, stride_y, stride_x, dilation_y, dilation_x}) >= 1 &&
           h + 2 * pad_y > dilation_y * (r - 1) && w + 2 * pad_x > dilation_x * (s - 1);
  }

  /// Pairs of an output and a tap that lies inside the image, along one axis.
  static int64_t pairs(int64_t size, int64_t taps, int64_t stride, int64_t pad, int64_t dilation) {
    int64_t inside = 0;
    const int64_t last = outputs(size, taps, stride, pad, dilation) - 1;
    for (int64_t u = 0; u < taps; ++u) {  // outputs i with 0 <= i·stride + from < size
      const int64_t from = u * dilation - pad;
      const int64_t begin = from >= 0 ? 0 : (-from + stride - 1) / stride;
      const int64_t end = from >= size ? -1 : std::min(last, (size - 1 - from) / stride);
      inside += std::max<int64_t>(0, end - begin + 1);
    }
    return inside;
  }
  /// Multiplications that no implementation of the sum avoids: taps on zeros cost nothing.
  double products() const {
    if (border != 0) return bordered().products();
    return double(n) * double(groups) * double(c) * double(k) *
           double(pairs(h, r, stride_y, pad_y, dilation_y)) *
           double(pairs(w, s, stride_x, pad_x, dilation_x));
  }

 private:
  static constexpr int64_t outputs(int64_t size, int64_t taps, int64_t stride, int64_t pad,
                                   int64_t dilation) {
    return (size + 2 * pad - dilation * (taps - 1) - 1) / stride + 1;
  }
  constexpr int64_t at(int64_t image, int64_t channel, int64_t row, int64_t column, int64_t channels,
                       int64_t rows, int64_t columns) const {
    return nhwc != 0 ? ((image * rows + row) * columns + column) * channels + channel
                     : ((image * channels + channel) * rows + row) * columns + column;
  }
  Dims dims_of(int64_t channels, int64_t rows, int64_t columns) const {
    return nhwc != 0 ? Dims{n, rows, columns, channels} : Dims{n, channels, rows, columns};
  }
};

struct Conv2dFwd {
  static constexpr std::string_view name = "conv2d_fwd";
  static constexpr std::array dims = {"n",          "groups",     "c",        "k",        "h",     "w",
                                      "r",          "s",          "stride_y", "stride_x", "pad_y", "pad_x",
                                      "dilation_y", "dilation_x", "nhwc",     "border"};
  static constexpr std::array optional = {"border"};
  using Shape = Conv2dShape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;  // [n,groups·c,h,w], or [n,h,w,groups·c] where nhwc = 1; f32, input
    const T* w;  // [groups·k,c,r,s] f32 in either layout, input
    const T* b;  // [groups·k] f32, input
    T* y;        // [n,groups·k,oh,ow], or [n,oh,ow,groups·k]; f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("x", args.x, Role::input, Draw::real, s.x_dims());
    visit("w", args.w, Role::input, Draw::real, s.w_dims());
    visit("b", args.b, Role::input, Draw::real, {s.out_channels()});
    visit("y", args.y, Role::output, Draw::real, s.y_dims());
  }

  static bool valid(const Shape& s) { return s.valid(); }

  /// Each tensor moved once; a multiplication and an addition for each tap that is not on zeros, and one for the bias; a mean takes an
  /// addition a pixel.
  static Cost cost(const Shape& s) {
    const double x = double(volume(s.x_dims())), y = double(volume(s.y_dims())),
                 w = double(volume(s.w_dims()));
    const double mean = s.border == PadShape::mean ? x : 0;
    return {.bytes = 4 * (x + y + w + double(s.out_channels())), .flops = 2 * s.products() + y + mean};
  }

  /// As for a scalar product of c·r·s factors (Higham, Accuracy and Stability of Numerical Algorithms, eq. 3.5), and the
  /// bias; at least two, for variants that round both factors to a shorter format. A mean adds its own.
  static double terms(const Shape& s) {
    return std::max(2.0, double(s.c * s.taps() + 1)) + Pad2dFwd::terms(s.pad());
  }

  /// x.y as above; magnitude.y = |b| + Σ|w||x|. Uses all processors for large shapes.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
