// Contract of groupnorm_bwd: gradients of a group normalization.
//
// With xhat = (x - mean_group)·rstd_group, g = d_y·gamma_channel and means over the each·hw numbers of a group:
//
//   d_x = rstd_group·(g - mean(g) - xhat·mean(g·xhat))
//   d_gamma_channel = sum over examples and positions of d_y·xhat        d_beta_channel = the same of d_y
//
// mean and rstd are the forward's outputs, taken as they are given.
#pragma once

#include "reference/groupnorm_fwd/groupnorm_fwd.h"

namespace klab {

struct GroupnormBwd {
  static constexpr std::string_view name = "groupnorm_bwd";
  static constexpr std::array dims = {"n", "groups", "each", "hw"};
  using Forward = GroupnormFwd;
  using Shape = GroupnormFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;      // [n,groups,each,hw] f32 row-major, as in the forward
    const T* gamma;  // [groups,each] f32
    const T* mean;   // [n,groups] f32, of the forward
    const T* rstd;   // [n,groups] f32, of the forward
    const T* d_y;    // [n,groups,each,hw] f32 row-major
    T* d_x;          // [n,groups,each,hw] f32 row-major, written (=)
    T* d_gamma;      // [groups,each] f32, written (=)
    T* d_beta;       // [groups,each] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, groups, each, hw] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, groups, each, hw});
    visit("gamma", args.gamma, Role::input, Draw::real, {groups, each});
    visit("mean", args.mean, Role::input, Draw::arranged, {n, groups});
    visit("rstd", args.rstd, Role::input, Draw::arranged, {n, groups});
    visit("d_y", args.d_y, Role::input, Draw::real, {n, groups, each, hw});
    visit("d_x", args.d_x, Role::output, Draw::real, {n, groups, each, hw});
    visit("d_gamma", args.d_gamma, Role::output, Draw::real, {groups, each});
    visit("d_beta", args.d_beta, Role::output, Draw::real, {groups, each});
  }

  static bool valid(const Shape& s) { return GroupnormFwd::valid(s); }

  /// x and d_y read, d_x written; 12 bytes a channel and 8 a group of an example besides. Operations as in layernorm_bwd,
  /// where the sums over a channel serve gamma, beta and, scaled by gamma, the group: xhat 2, the sums 3, d_x 5.
  static Cost cost(const Shape& s) {
    const double sets = double(s.n) * double(s.groups), channels = sets * double(s.each);
    const double all = channels * double(s.hw);
    return {.bytes = 12 * all + 12 * double(s.groups) * double(s.each) + 8 * sets,
            .flops = 10 * all + 6 * channels};
  }

  /// Roundings of a sum over a group or over a channel of all examples, and a few more.
  static double terms(const Shape& s) {
    const int64_t group = s.each * s.hw, channel = s.n * s.hw;
    return double(group > channel ? group : channel) + 16;
  }

  /// mean and rstd are those of x.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
