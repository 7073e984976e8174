// Contract of batchnorm_inference_bwd: gradients of a batch normalization whose statistics are given, not taken from the batch.
//
// With xhat = (x - running_mean_c)·rstd_c and rstd_c = 1/sqrt(running_var_c + epsilon), over the N = n·hw numbers of a channel:
//
//   d_x = gamma_c·rstd_c·d_y        d_beta_c = sum d_y        d_gamma_c = sum d_y·xhat
//
// The statistics are constants here: no number of the batch has moved them, so the two means of batchnorm_bwd are missing, and d_x needs
// none of the sums. So a network is trained further whose statistics stay as they are (frozen batch normalization, as detectors
// are fine-tuned: K. He and others, "Deep residual learning for image recognition", 2015, appendix A).
#pragma once

#include "reference/batchnorm_inference/batchnorm_inference.h"

namespace klab {

struct BatchnormInferenceBwd {
  static constexpr std::string_view name = "batchnorm_inference_bwd";
  static constexpr std::array dims = {"n", "c", "hw"};
  using Forward = BatchnormInference;
  using Shape = BatchnormInference::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;             // [n,c,hw] f32 row-major, as in the forward
    const T* gamma;         // [c] f32
    const T* epsilon;       // [1] f32, at least 1e-12
    const T* running_mean;  // [c] f32
    const T* running_var;   // [c] f32, >= 0
    const T* d_y;           // [n,c,hw] f32 row-major
    T* d_x;                 // [n,c,hw] f32 row-major, written (=)
    T* d_gamma;             // [c] f32, written (=)
    T* d_beta;              // [c] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c, hw] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, c, hw});
    visit("gamma", args.gamma, Role::input, Draw::real, {c});
    visit("epsilon", args.epsilon, Role::input, Draw::arranged, {1});
    visit("running_mean", args.running_mean, Role::input, Draw::real, {c});
    visit("running_var", args.running_var, Role::input, Draw::unit, {c});
    visit("d_y", args.d_y, Role::input, Draw::real, {n, c, hw});
    visit("d_x", args.d_x, Role::output, Draw::real, {n, c, hw});
    visit("d_gamma", args.d_gamma, Role::output, Draw::real, {c});
    visit("d_beta", args.d_beta, Role::output, Draw::real, {c});
  }

  /// x and d_y read, d_x written; 20 bytes a channel besides. xhat takes 2 operations, the sums 3, d_x one.
  static Cost cost(const Shape& s) {
    const double all = double(s.n) * double(s.c) * double(s.hw), c = double(s.c);
    return {.bytes = 12 * all + 20 * c + 4, .flops = 6 * all + 2 * c, .divisions = c, .roots = c};
  }

  /// Roundings of a sum over a channel, and a few more.
  static double terms(const Shape& s) { return double(s.n * s.hw) + 16; }

  /// epsilon is 1e-5.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
