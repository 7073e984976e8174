// Contract of depth_loss_fwd: difference between a ray's expected depth and the true one, where that is
// known.
//
//   loss = (depth - truth)²/2 where truth > 0, else 0
//
// (Deng et al., "Depth-supervised NeRF", 2022, use it for depths from matched points.)
#pragma once

#include "reference/depth_loss_fwd/depths.h"

namespace klab {

struct DepthLossFwd : depths::Family {
  static constexpr std::string_view name = "depth_loss_fwd";

  template <class T>
  struct Args {
    Shape shape;
    const T* depth;  // [rays] f32
    const T* truth;  // [rays] f32, 0: not known
    T* loss;         // [rays] f32, written (=)
  };

  /// Two depths in, a loss out.
  static Cost cost(const Shape& s) { return {.bytes = 12 * double(s.rays), .flops = 3 * double(s.rays)}; }

  /// The difference, squared, and the half, which is exact.
  static double terms(const Shape&) { return 4; }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
