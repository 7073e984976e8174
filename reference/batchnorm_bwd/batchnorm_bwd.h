// Contract of batchnorm_bwd: gradients of a batch normalization, through its batch statistics.
//
// With xhat = (x - mean_c)·rstd_c and means over the N = n·hw numbers of a channel:
//
//   d_beta_c = sum d_y        d_gamma_c = sum d_y·xhat
//   d_x = gamma_c·rstd_c·(d_y - d_beta_c/N - xhat·d_gamma_c/N)
//
// The two means are the way through mean and variance: every number of the batch has moved both. mean and rstd are the
// forward's outputs, taken as they are given. The running averages get no gradient.
#pragma once

#include "reference/batchnorm_fwd/batchnorm_fwd.h"

namespace klab {

struct BatchnormBwd {
  static constexpr std::string_view name = "batchnorm_bwd";
  static constexpr std::array dims = {"n", "c", "hw"};
  using Forward = BatchnormFwd;
  using Shape = BatchnormFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;      // [n,c,hw] f32 row-major, as in the forward
    const T* gamma;  // [c] f32
    const T* mean;   // [c] f32, of the forward
    const T* rstd;   // [c] f32, of the forward
    const T* d_y;    // [n,c,hw] f32 row-major
    T* d_x;          // [n,c,hw] f32 row-major, written (=)
    T* d_gamma;      // [c] f32, written (=)
    T* d_beta;       // [c] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c, hw] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, c, hw});
    visit("gamma", args.gamma, Role::input, Draw::real, {c});
    visit("mean", args.mean, Role::input, Draw::arranged, {c});
    visit("rstd", args.rstd, Role::input, Draw::arranged, {c});
    visit("d_y", args.d_y, Role::input, Draw::real, {n, c, hw});
    visit("d_x", args.d_x, Role::output, Draw::real, {n, c, hw});
    visit("d_gamma", args.d_gamma, Role::output, Draw::real, {c});
    visit("d_beta", args.d_beta, Role::output, Draw::real, {c});
  }

  static bool valid(const Shape& s) { return BatchnormFwd::valid(s); }

  /// x and d_y read, d_x written; 20 bytes a channel besides. xhat takes 2 operations, the sums 3, d_x 5.
  static Cost cost(const Shape& s) {
    const double all = double(s.n) * double(s.c) * double(s.hw), c = double(s.c);
    return {.bytes = 12 * all + 20 * c, .flops = 10 * all + 3 * c};
  }

  /// Roundings of a sum over a channel, and a few more.
  static double terms(const Shape& s) { return double(BatchnormFwd::count(s)) + 16; }

  /// mean and rstd are those of x.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
