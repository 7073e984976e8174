// Contract of layernorm_residual_fwd: a residual added, and the sum normalized over its features.
//
//   sum = x + residual        y = layernorm(sum; gamma, beta, epsilon)
//
// The sum is rounded once, to nearest: it has the same bits in every variant.
//
// It stands between two sublayers of a transformer (before the next one: "pre-norm"). The sum is an output,
// for it is the residual that the next addition takes. Its own operation and no optional input of
// layernorm_fwd: with the addition come another output and other compulsory traffic, so that a ladder of the
// one would be judged by the ceiling of the other. The backward is layernorm_bwd at `sum`, whose d_x plus the
// gradient that reaches `sum` from behind is that of x and residual.
#pragma once

#include "reference/layernorm_fwd/layernorm_fwd.h"

namespace klab {

struct LayernormResidualFwd {
  static constexpr std::string_view name = "layernorm_residual_fwd";
  static constexpr std::array dims = {"n", "c"};
  using Shape = LayernormFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;         // [n,c] f32 row-major
    const T* residual;  // [n,c] f32 row-major
    const T* gamma;     // [c] f32
    const T* beta;      // [c] f32
    const T* epsilon;   // [1] f32, at least 1e-12
    T* sum;             // [n,c] f32 row-major, written (=)
    T* y;               // [n,c] f32 row-major, written (=)
    T* mean;            // [n] f32 of the sum, written (=)
    T* rstd;            // [n] f32 of the sum, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, c});
    visit("residual", args.residual, Role::input, Draw::real, {n, c});
    visit("gamma", args.gamma, Role::input, Draw::real, {c});
    visit("beta", args.beta, Role::input, Draw::real, {c});
    visit("epsilon", args.epsilon, Role::input, Draw::arranged, {1});
    visit("sum", args.sum, Role::output, Draw::real, {n, c});
    visit("y", args.y, Role::output, Draw::real, {n, c});
    visit("mean", args.mean, Role::output, Draw::real, {n});
    visit("rstd", args.rstd, Role::output, Draw::real, {n});
  }

  static bool valid(const Shape& s) { return LayernormFwd::valid(s); }

  /// Two arrays read and two written; one operation more than layernorm_fwd.
  static Cost cost(const Shape& s) {
    const double n = double(s.n), c = double(s.c);
    return {.bytes = 16 * n * c + 8 * c + 8 * n, .flops = 9 * n * c + 5 * n, .divisions = n, .roots = n};
  }

  static double terms(const Shape& s) { return LayernormFwd::terms(s); }
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
