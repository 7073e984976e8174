// Contract of batchnorm_inference: every channel normalized with statistics that training left behind.
//
//   y = gamma_c·(x - running_mean_c)/sqrt(running_var_c + epsilon) + beta_c
//
// No sum over the batch: an output depends on its own input alone. So a scale and a shift for each channel are all of it.
#pragma once

#include "reference/batchnorm_fwd/batchnorm_fwd.h"

namespace klab {

struct BatchnormInference {
  static constexpr std::string_view name = "batchnorm_inference";
  static constexpr std::array dims = {"n", "c", "hw"};

  struct Shape {
    int64_t n, c, hw;  // examples, channels, positions of a channel
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;             // [n,c,hw] f32 row-major (NCHW)
    const T* gamma;         // [c] f32
    const T* beta;          // [c] f32
    const T* epsilon;       // [1] f32, at least 1e-12
    const T* running_mean;  // [c] f32
    const T* running_var;   // [c] f32, >= 0
    T* y;                   // [n,c,hw] f32 row-major, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c, hw] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, c, hw});
    visit("gamma", args.gamma, Role::input, Draw::real, {c});
    visit("beta", args.beta, Role::input, Draw::real, {c});
    visit("epsilon", args.epsilon, Role::input, Draw::arranged, {1});
    visit("running_mean", args.running_mean, Role::input, Draw::real, {c});
    visit("running_var", args.running_var, Role::input, Draw::unit, {c});
    visit("y", args.y, Role::output, Draw::real, {n, c, hw});
  }

  /// x read, y written, 16 bytes a channel besides. A product and a sum for each number.
  static Cost cost(const Shape& s) {
    const double all = double(s.n) * double(s.c) * double(s.hw), c = double(s.c);
    return {.bytes = 8 * all + 16 * c + 4, .flops = 2 * all + 5 * c, .divisions = c, .roots = c};
  }

  /// A few roundings of each summand.
  static double terms(const Shape&) { return 16; }

  /// epsilon is 1e-5.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
