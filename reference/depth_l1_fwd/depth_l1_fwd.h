// Contract of depth_l1_fwd: distance between a ray's expected depth and the true one, where that is known.
//
//   loss = |depth - truth| where truth > 0, else 0
//
// Its slope is the same for every error, so that a few depths that are wrong do not outweigh the others as their squares do
// (Zhu et al., "NICE-SLAM", 2022, train on it with depths of a camera).
#pragma once

#include "reference/depth_loss_fwd/depths.h"

namespace klab {

struct DepthL1Fwd : depths::Family {
  static constexpr std::string_view name = "depth_l1_fwd";

  template <class T>
  struct Args {
    Shape shape;
    const T* depth;  // [rays] f32
    const T* truth;  // [rays] f32, 0: not known
    T* loss;         // [rays] f32, written (=)
  };

  /// Two depths in, a loss out.
  static Cost cost(const Shape& s) { return {.bytes = 12 * double(s.rays), .flops = 2 * double(s.rays)}; }

  /// The difference; its absolute value is exact.
  static double terms(const Shape&) { return 1; }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
