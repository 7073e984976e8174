// Contract of depth_l1_fwd: distance between a ray's expected depth and the true one, where that is known.
//
//   loss = |depth - truth| where truth > 0, else 0
//
// Its slope is the same for every error, so that a few depths that are wrong do not outweigh the others as their squares do
// (Zhu et al., "NICE-SLAM", 2022, train on it with depths of a camera).
#pragma once

#include "reference/depth_loss_fwd/depth_loss_fwd.h"

namespace klab {

struct DepthL1Fwd {
  static constexpr std::string_view name = "depth_l1_fwd";
  static constexpr std::array dims = {"rays"};
  using Shape = DepthLossFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* depth;  // [rays] f32
    const T* truth;  // [rays] f32, 0: not known
    T* loss;         // [rays] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("depth", args.depth, Role::input, Draw::unit, {s.rays});
    visit("truth", args.truth, Role::input, Draw::arranged, {s.rays});
    visit("loss", args.loss, Role::output, Draw::real, {s.rays});
  }

  /// Two depths in, a loss out.
  static Cost cost(const Shape& s) { return {.bytes = 12 * double(s.rays), .flops = 2 * double(s.rays)}; }

  /// The difference; its absolute value is exact.
  static double terms(const Shape&) { return 1; }

  /// Draws truths as those of depth_loss_fwd.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
