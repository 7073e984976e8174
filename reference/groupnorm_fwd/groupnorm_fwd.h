// Contract of groupnorm_fwd: every example normalized over groups of its channels.
//
// An example has groups·each channels of hw positions. The each·hw numbers of a group share one mean and one variance:
//
//   y = gamma_channel·(x - mean_group)·rstd_group + beta_channel
//
// (Wu and He, "Group normalization", 2018.) groups = 1 is a layer normalization over all of an example, each = 1 an
// instance normalization. No example sees another, so training and inference are the same. Mean, variance and rstd as in
// layernorm_fwd.
#pragma once

#include "reference/contract.h"

namespace klab {

struct GroupnormFwd {
  static constexpr std::string_view name = "groupnorm_fwd";
  static constexpr std::array dims = {"n", "groups", "each", "hw"};

  struct Shape {
    int64_t n;       // examples
    int64_t groups;  // of an example
    int64_t each;    // channels of a group, at least one
    int64_t hw;      // positions of a channel, at least one
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;        // [n,groups,each,hw] f32 row-major (NCHW)
    const T* gamma;    // [groups,each] f32
    const T* beta;     // [groups,each] f32
    const T* epsilon;  // [1] f32, at least 1e-12
    T* y;              // [n,groups,each,hw] f32 row-major, written (=)
    T* mean;           // [n,groups] f32, written (=)
    T* rstd;           // [n,groups] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, groups, each, hw] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, groups, each, hw});
    visit("gamma", args.gamma, Role::input, Draw::real, {groups, each});
    visit("beta", args.beta, Role::input, Draw::real, {groups, each});
    visit("epsilon", args.epsilon, Role::input, Draw::arranged, {1});
    visit("y", args.y, Role::output, Draw::real, {n, groups, each, hw});
    visit("mean", args.mean, Role::output, Draw::real, {n, groups});
    visit("rstd", args.rstd, Role::output, Draw::real, {n, groups});
  }

  static bool valid(const Shape& s) {
    return s.n >= 0 && s.groups >= 0 && s.each >= 1 && s.hw >= 1 && s.each * s.hw < (int64_t{1} << 31);
  }

  /// x read once, y written; 8 bytes a channel and 8 a group of an example besides. Operations as in layernorm_fwd.
  static Cost cost(const Shape& s) {
    const double sets = double(s.n) * double(s.groups), all = sets * double(s.each) * double(s.hw);
    return {.bytes = 8 * all + 8 * double(s.groups) * double(s.each) + 8 * sets,
            .flops = 8 * all + 5 * sets,
            .divisions = sets,
            .roots = sets};
  }

  /// Roundings of a sum over a group, and a few more; the bound is derived in layernorm_fwd/moments.h.
  static double terms(const Shape& s) { return double(s.each) * double(s.hw) + 16; }

  /// epsilon is 1e-5; groups far from zero and groups of little variance among the others.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
