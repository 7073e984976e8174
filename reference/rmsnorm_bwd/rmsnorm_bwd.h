// Contract of rmsnorm_bwd: gradients of a normalization by the root mean square.
//
// With xhat_ij = x_ij·rrms_i and g_ij = d_y_ij·gamma_j:
//
//   d_x_ij = rrms_i·(g_ij - xhat_ij·mean_j(g·xhat))        d_gamma_j = sum_i d_y_ij·xhat_ij
//
// rrms is the forward's output, taken as it is given.
#pragma once

#include "reference/rmsnorm_fwd/rmsnorm_fwd.h"

namespace klab {

struct RmsnormBwd {
  static constexpr std::string_view name = "rmsnorm_bwd";
  static constexpr std::array dims = {"n", "c"};
  using Forward = RmsnormFwd;
  using Shape = RmsnormFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;      // [n,c] f32 row-major, as in the forward
    const T* gamma;  // [c] f32
    const T* rrms;   // [n] f32, of the forward
    const T* d_y;    // [n,c] f32 row-major
    T* d_x;          // [n,c] f32 row-major, written (=)
    T* d_gamma;      // [c] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, c});
    visit("gamma", args.gamma, Role::input, Draw::real, {c});
    visit("rrms", args.rrms, Role::input, Draw::arranged, {n});
    visit("d_y", args.d_y, Role::input, Draw::real, {n, c});
    visit("d_x", args.d_x, Role::output, Draw::real, {n, c});
    visit("d_gamma", args.d_gamma, Role::output, Draw::real, {c});
  }

  static bool valid(const Shape& s) { return RmsnormFwd::valid(s); }

  /// x and d_y read, d_x written; 8 bytes a feature and 4 a row besides. xhat and g take an operation each, their sum 2,
  /// d_x 3, d_gamma 2.
  static Cost cost(const Shape& s) {
    const double n = double(s.n), c = double(s.c);
    return {.bytes = 12 * n * c + 8 * c + 4 * n, .flops = 9 * n * c + n};
  }

  /// Roundings of a sum over a row or over a column, and a few more.
  static double terms(const Shape& s) { return double(s.c > s.n ? s.c : s.n) + 16; }

  /// rrms is that of x.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
