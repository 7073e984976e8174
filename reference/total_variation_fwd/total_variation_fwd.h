// Contract of total_variation_fwd: the change of the log-density between points and their neighbors along the
// axes.
//
//   loss_p = sum over m = 1..3 of (raw[m,p] - raw[0,p])²
//
// (Yu et al., "Plenoxels", 2022, section 3.3, use the sum over a voxel grid's neighbors.)
#pragma once

#include "reference/contract.h"

namespace klab {

struct TotalVariationFwd {
  static constexpr std::string_view name = "total_variation_fwd";
  static constexpr std::array dims = {"points"};

  struct Shape {
    int64_t points;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* raw;  // [4,points] f32: at the points, and moved along x, y, z
    T* loss;       // [points] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("raw", args.raw, Role::input, Draw::real, {4, s.points});
    visit("loss", args.loss, Role::output, Draw::real, {s.points});
  }

  /// Four logarithms in, a sum out.
  static Cost cost(const Shape& s) { return {.bytes = 20 * double(s.points), .flops = 9 * double(s.points)}; }

  /// A difference, squared, two sums.
  static double terms(const Shape&) { return 6; }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
