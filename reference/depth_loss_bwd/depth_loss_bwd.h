// Contract of depth_loss_bwd: gradient of the depth loss: d_loss·(depth - truth) where the truth is known.
#pragma once

#include "reference/depth_loss_fwd/depth_loss_fwd.h"

namespace klab {

struct DepthLossBwd : depths::Family {
  static constexpr std::string_view name = "depth_loss_bwd";
  using Forward = DepthLossFwd;

  template <class T>
  struct Args {
    Shape shape;
    const T* depth;   // [rays] f32
    const T* truth;   // [rays] f32, 0: not known
    const T* d_loss;  // [rays] f32
    T* d_depth;       // [rays] f32, written (=)
  };

  /// Two depths and a gradient in, one out.
  static Cost cost(const Shape& s) { return {.bytes = 16 * double(s.rays), .flops = 2 * double(s.rays)}; }

  /// A difference and a product.
  static double terms(const Shape&) { return 3; }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
