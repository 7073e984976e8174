// Shared by the contracts that compare a ray's expected depth with the true one: depth_loss_fwd, depth_loss_bwd, depth_l1_fwd,
// depth_l1_bwd.
#pragma once

#include "reference/contract.h"

namespace klab::depths {

/// A third of the depths is not known. Widely: any distance above 0 is known; a camera's own zero, and values that some cameras write
/// for "no return", are not.
void arrange(int64_t rays, float* truth, Generator& random);

/// What these contracts have in common. Args with d_loss are a gradient's.
struct Family {
  static constexpr std::array dims = {"rays"};

  struct Shape {
    int64_t rays;
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t rays = args.shape.rays;
    visit("depth", args.depth, Role::input, Draw::unit, {rays});
    visit("truth", args.truth, Role::input, Draw::arranged, {rays});
    if constexpr (requires { args.d_loss; }) {
      visit("d_loss", args.d_loss, Role::input, Draw::real, {rays});
      visit("d_depth", args.d_depth, Role::output, Draw::real, {rays});
    } else {
      visit("loss", args.loss, Role::output, Draw::real, {rays});
    }
  }

  static void arrange(const auto& x, Generator& random) {
    depths::arrange(x.shape.rays, const_cast<float*>(x.truth), random);
  }
};

}  // namespace klab::depths
