// Contract of depth_l1_bwd: gradient of the distance between depths: d_loss with the sign of depth - truth where the truth is known,
// and 0 where both are the same.
#pragma once

#include "reference/depth_l1_fwd/depth_l1_fwd.h"

namespace klab {

struct DepthL1Bwd : depths::Family {
  static constexpr std::string_view name = "depth_l1_bwd";
  using Forward = DepthL1Fwd;

  template <class T>
  struct Args {
    Shape shape;
    const T* depth;   // [rays] f32
    const T* truth;   // [rays] f32, 0: not known
    const T* d_loss;  // [rays] f32
    T* d_depth;       // [rays] f32, written (=)
  };

  /// Two depths and a gradient in, one out; two comparisons.
  static Cost cost(const Shape& s) { return {.bytes = 16 * double(s.rays), .flops = 2 * double(s.rays)}; }

  /// Nothing is rounded.
  static double terms(const Shape&) { return 0; }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
