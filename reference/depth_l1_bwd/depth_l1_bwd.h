// Contract of depth_l1_bwd: gradient of the distance between depths: d_loss with the sign of depth - truth where the truth is known,
// and 0 where both are the same.
#pragma once

#include "reference/depth_l1_fwd/depth_l1_fwd.h"

namespace klab {

struct DepthL1Bwd {
  static constexpr std::string_view name = "depth_l1_bwd";
  static constexpr std::array dims = {"rays"};
  using Forward = DepthL1Fwd;
  using Shape = DepthL1Fwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* depth;   // [rays] f32
    const T* truth;   // [rays] f32, 0: not known
    const T* d_loss;  // [rays] f32
    T* d_depth;       // [rays] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("depth", args.depth, Role::input, Draw::unit, {s.rays});
    visit("truth", args.truth, Role::input, Draw::arranged, {s.rays});
    visit("d_loss", args.d_loss, Role::input, Draw::real, {s.rays});
    visit("d_depth", args.d_depth, Role::output, Draw::real, {s.rays});
  }

  /// Two depths and a gradient in, one out; two comparisons.
  static Cost cost(const Shape& s) { return {.bytes = 16 * double(s.rays), .flops = 2 * double(s.rays)}; }

  /// Nothing is rounded.
  static double terms(const Shape&) { return 0; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
