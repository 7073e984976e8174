// Contract of total_variation_bwd: gradient of the total variation.
//
//   d_raw[m,p] = 2·d_loss_p·(raw[m,p] - raw[0,p]) for m > 0,    d_raw[0,p] = -sum of these
#pragma once

#include "reference/total_variation_fwd/total_variation_fwd.h"

namespace klab {

struct TotalVariationBwd {
  static constexpr std::string_view name = "total_variation_bwd";
  static constexpr std::array dims = {"points"};
  using Forward = TotalVariationFwd;
  using Shape = TotalVariationFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* raw;     // [4,points] f32
    const T* d_loss;  // [points] f32
    T* d_raw;         // [4,points] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("raw", args.raw, Role::input, Draw::real, {4, s.points});
    visit("d_loss", args.d_loss, Role::input, Draw::real, {s.points});
    visit("d_raw", args.d_raw, Role::output, Draw::real, {4, s.points});
  }

  /// Four logarithms and a gradient in, four out.
  static Cost cost(const Shape& s) {
    return {.bytes = 36 * double(s.points), .flops = 12 * double(s.points)};
  }

  /// A difference, two products, one of them exact, two sums.
  static double terms(const Shape&) { return 6; }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
