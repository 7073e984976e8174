// Contract of pad2d_fwd: pictures with a border, whose pixels follow from the picture.
//
//   kind 0, zeros       0
//   kind 1, replicate   the nearest pixel of the picture
//   kind 2, circular    the picture goes on at its other side
//   kind 3, reflect     the picture mirrored at its outermost pixels, which are not repeated
//   kind 4, mean        the mean of the picture
//
// A picture is one channel of one image. Inside the border it is copied as it is.
#pragma once

#include <algorithm>

#include "reference/contract.h"

namespace klab {

/// Sizes that the forward and the backward share.
struct PadShape {
  static constexpr int64_t zeros = 0, replicate = 1, circular = 2, reflect = 3, mean = 4;

  int64_t planes;  // pictures: images times channels
  int64_t h, w;    // rows and columns of a picture, at least 1
  int64_t pad_y,
      pad_x;     // rows above and below, columns on both sides; circular: h and w at most, reflect: less
  int64_t kind;  // of the border

  constexpr int64_t oh() const { return h + 2 * pad_y; }  // rows with the border
  constexpr int64_t ow() const { return w + 2 * pad_x; }  // columns with the border
  constexpr bool inside(int64_t row, int64_t column) const {
    return row >= 0 && row < h && column >= 0 && column < w;
  }
  /// Returns whether each pixel of the border is a copy of one pixel.
  constexpr bool copies() const { return kind == replicate || kind == circular || kind == reflect; }
  /// Returns the pixel along one axis of length `size` that position p shows, -pad <= p < size + pad, of a kind that copies.
  constexpr int64_t source(int64_t p, int64_t size) const {
    if (p >= 0 && p < size) return p;
    if (kind == replicate) return p < 0 ? 0 : size - 1;
    if (kind == circular) return p < 0 ? p + size : p - size;
    return p < 0 ? -p : 2 * (size - 1) - p;
  }

  Dims x_dims() const { return {planes, h, w}; }
  Dims y_dims() const { return {planes, oh(), ow()}; }
  bool valid() const {
    const int64_t less = kind == circular ? 0 : 1;  // than a side of the picture
    const bool short_enough =
        (kind != circular && kind != reflect) || (pad_y <= h - less && pad_x <= w - less);
    return std::min({planes, pad_y, pad_x, kind}) >= 0 && kind <= mean && std::min(h, w) >= 1 && short_enough;
  }
};

struct Pad2dFwd {
  static constexpr std::string_view name = "pad2d_fwd";
  static constexpr std::array dims = {"planes", "h", "w", "pad_y", "pad_x", "kind"};
  using Shape = PadShape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;  // [planes,h,w] f32, input
    T* y;        // [planes,oh,ow] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    visit("x", args.x, Role::input, Draw::real, args.shape.x_dims());
    visit("y", args.y, Role::output, Draw::real, args.shape.y_dims());
  }

  static bool valid(const Shape& s) { return s.valid(); }

  /// x read and y written once; a mean takes an addition a pixel.
  static Cost cost(const Shape& s) {
    const double planes = double(s.planes), x = planes * double(s.h * s.w),
                 y = planes * double(s.oh() * s.ow());
    return {.bytes = 4 * (x + y), .flops = s.kind == PadShape::mean ? x : 0};
  }

  /// Copies are exact. A mean adds h·w numbers and divides.
  static double terms(const Shape& s) { return s.kind == PadShape::mean ? double(s.h * s.w + 1) : 0; }

  /// x.y as above; magnitude.y the same of |x|.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
