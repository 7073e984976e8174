// Contract of layernorm_bwd: gradients of a layer normalization.
//
// With xhat_ij = (x_ij - mean_i)·rstd_i and g_ij = d_y_ij·gamma_j:
//
//   d_x_ij    = rstd_i·(g_ij - mean_j(g) - xhat_ij·mean_j(g·xhat))      the means are the way through mean and variance
//   d_gamma_j = sum_i d_y_ij·xhat_ij        d_beta_j = sum_i d_y_ij
//
// mean and rstd are the forward's outputs, taken as they are given.
#pragma once

#include "reference/layernorm_fwd/layernorm_fwd.h"

namespace klab {

struct LayernormBwd {
  static constexpr std::string_view name = "layernorm_bwd";
  static constexpr std::array dims = {"n", "c"};
  using Forward = LayernormFwd;
  using Shape = LayernormFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;      // [n,c] f32 row-major, as in the forward
    const T* gamma;  // [c] f32
    const T* mean;   // [n] f32, of the forward
    const T* rstd;   // [n] f32, of the forward
    const T* d_y;    // [n,c] f32 row-major
    T* d_x;          // [n,c] f32 row-major, written (=)
    T* d_gamma;      // [c] f32, written (=)
    T* d_beta;       // [c] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, c});
    visit("gamma", args.gamma, Role::input, Draw::real, {c});
    visit("mean", args.mean, Role::input, Draw::arranged, {n});
    visit("rstd", args.rstd, Role::input, Draw::arranged, {n});
    visit("d_y", args.d_y, Role::input, Draw::real, {n, c});
    visit("d_x", args.d_x, Role::output, Draw::real, {n, c});
    visit("d_gamma", args.d_gamma, Role::output, Draw::real, {c});
    visit("d_beta", args.d_beta, Role::output, Draw::real, {c});
  }

  static bool valid(const Shape& s) { return LayernormFwd::valid(s); }

  /// x and d_y read, d_x written; 12 bytes a feature and 8 a row besides. xhat takes 2 operations, g one, its two sums 3,
  /// d_x 4, d_gamma and d_beta 3.
  static Cost cost(const Shape& s) {
    const double n = double(s.n), c = double(s.c);
    return {.bytes = 12 * n * c + 12 * c + 8 * n, .flops = 13 * n * c + 2 * n};
  }

  /// Roundings of a sum over a row or over a column, and a few more.
  static double terms(const Shape& s) { return double(s.c > s.n ? s.c : s.n) + 16; }

  /// mean and rstd are those of x.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
