// Contract of batchnorm_fwd: every channel normalized over the batch, as in training.
//
// The N = n·hw numbers of a channel share one mean and one variance:
//
//   mean = sum x / N        variance = sum (x - mean)^2 / N        rstd = 1/sqrt(variance + epsilon)
//   y    = gamma_c·(x - mean_c)·rstd_c + beta_c
//   running_mean += momentum·(mean - running_mean)
//   running_var  += momentum·(variance·N/(N - 1) - running_var)
//
// (Ioffe and Szegedy, "Batch normalization", 2015.) The biased variance normalizes, the unbiased one enters
// the running average; of a single number (N = 1) both are 0. `momentum` is the share of the new batch, 0.1
// for most: the running average keeps 1 - momentum of its old value. Inference takes the running ones:
// batchnorm_inference.
#pragma once

#include "reference/contract.h"

namespace klab {

struct BatchnormFwd {
  static constexpr std::string_view name = "batchnorm_fwd";
  static constexpr std::array dims = {"n", "c", "hw"};

  struct Shape {
    int64_t n;  // examples, at least one
    int64_t c;  // channels
    int64_t
        hw;  // positions of a channel, at least one: height times width of an image, 1 behind a linear layer
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;         // [n,c,hw] f32 row-major (NCHW)
    const T* gamma;     // [c] f32
    const T* beta;      // [c] f32
    const T* epsilon;   // [1] f32, at least 1e-12
    const T* momentum;  // [1] f32, in [0,1]
    T* running_mean;    // [c] f32, read and written
    T* running_var;     // [c] f32, >= 0, read and written
    T* y;               // [n,c,hw] f32 row-major, written (=)
    T* mean;            // [c] f32, written (=)
    T* rstd;            // [c] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c, hw] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, c, hw});
    visit("gamma", args.gamma, Role::input, Draw::real, {c});
    visit("beta", args.beta, Role::input, Draw::real, {c});
    visit("epsilon", args.epsilon, Role::input, Draw::arranged, {1});
    visit("momentum", args.momentum, Role::input, Draw::unit, {1});
    visit("running_mean", args.running_mean, Role::accumulate, Draw::real, {c});
    visit("running_var", args.running_var, Role::accumulate, Draw::unit, {c});
    visit("y", args.y, Role::output, Draw::real, {n, c, hw});
    visit("mean", args.mean, Role::output, Draw::real, {c});
    visit("rstd", args.rstd, Role::output, Draw::real, {c});
  }

  static bool valid(const Shape& s) {
    return s.n >= 1 && s.c >= 0 && s.hw >= 1 && s.n * s.hw < (int64_t{1} << 31);
  }

  /// Numbers that a channel's statistics are of.
  static int64_t count(const Shape& s) { return s.n * s.hw; }

  /// x read once, y written; 32 bytes a channel besides. Operations of a number as in layernorm_fwd.
  static Cost cost(const Shape& s) {
    const double all = double(s.n) * double(s.c) * double(s.hw), c = double(s.c);
    return {.bytes = 8 * all + 32 * c + 8, .flops = 8 * all + 12 * c, .divisions = c, .roots = c};
  }

  /// Roundings of a sum over a channel, and a few more; the bound is derived in layernorm_fwd/moments.h.
  static double terms(const Shape& s) { return double(count(s)) + 16; }

  /// epsilon is 1e-5; channels far from zero and channels of little variance among the others.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
