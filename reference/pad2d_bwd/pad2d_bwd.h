// Contract of pad2d_bwd: the gradient of a loss with respect to the picture that pad2d_fwd has given a border.
//
//   d_x[pixel] = sum of d_y over all places that show the pixel
//   kind 4, mean: besides, each pixel gets the sum of d_y over the border, divided by the pixels of a picture
//
// Border pixels of kind 0 show nothing, so their gradients are dropped.
#pragma once

#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab {

struct Pad2dBwd {
  using Forward = Pad2dFwd;
  static constexpr std::string_view name = "pad2d_bwd";
  static constexpr std::array dims = Pad2dFwd::dims;
  using Shape = PadShape;

  template <class T>
  struct Args {
    Shape shape;
    const T* d_y;  // [planes,oh,ow] f32, input
    T* d_x;        // [planes,h,w] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    visit("d_y", args.d_y, Role::input, Draw::real, args.shape.y_dims());
    visit("d_x", args.d_x, Role::output, Draw::real, args.shape.x_dims());
  }

  static bool valid(const Shape& s) { return s.valid(); }

  /// d_y read and d_x written once, without the border of zeros; an addition for each pixel of another border, and for a mean one
  /// for each pixel of the picture.
  static Cost cost(const Shape& s) {
    const double planes = double(s.planes), x = planes * double(s.h * s.w);
    const double y = s.kind == PadShape::zeros ? x : planes * double(s.oh() * s.ow());
    return {.bytes = 4 * (x + y), .flops = y - x + (s.kind == PadShape::mean ? x : 0)};
  }

  /// A pixel is shown at most 2·pad + 1 times along an axis by kind 1, three times by kinds 2 and 3. With a mean it gets the sum
  /// of the border, a division and an addition.
  static double terms(const Shape& s) {
    if (s.kind == PadShape::zeros) return 0;
    if (s.kind == PadShape::replicate) return double((2 * s.pad_y + 1) * (2 * s.pad_x + 1));
    if (s.kind == PadShape::mean) return double(s.oh() * s.ow() - s.h * s.w + 2);
    return 9;
  }

  /// x.d_x as above; magnitude.d_x the same of |d_y|.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
