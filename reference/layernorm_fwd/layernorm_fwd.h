// Contract of layernorm_fwd: every row normalized over its features.
//
//   mean = sum_j x_j / c        variance = sum_j (x_j - mean)^2 / c        rstd = 1/sqrt(variance + epsilon)
//   y_j  = gamma_j·(x_j - mean)·rstd + beta_j
//
// (Ba, Kiros and Hinton, "Layer normalization", 2016.) The variance divides by c, not by c - 1, and epsilon stands under
// the root. Mean and rstd are outputs: the backward reads them, where it would else compute them again.
#pragma once

#include "reference/contract.h"

namespace klab {

struct LayernormFwd {
  static constexpr std::string_view name = "layernorm_fwd";
  static constexpr std::array dims = {"n", "c"};

  struct Shape {
    int64_t n;  // rows: tokens
    int64_t c;  // features of a row, at least one
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;        // [n,c] f32 row-major
    const T* gamma;    // [c] f32
    const T* beta;     // [c] f32
    const T* epsilon;  // [1] f32, at least 1e-12
    T* y;              // [n,c] f32 row-major, written (=)
    T* mean;           // [n] f32, written (=)
    T* rstd;           // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, c});
    visit("gamma", args.gamma, Role::input, Draw::real, {c});
    visit("beta", args.beta, Role::input, Draw::real, {c});
    visit("epsilon", args.epsilon, Role::input, Draw::arranged, {1});
    visit("y", args.y, Role::output, Draw::real, {n, c});
    visit("mean", args.mean, Role::output, Draw::real, {n});
    visit("rstd", args.rstd, Role::output, Draw::real, {n});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.c >= 1 && s.c < (int64_t{1} << 31); }

  /// x, gamma and beta read once, y and two numbers a row written. A feature is added to the sum; subtracted, squared and
  /// added; subtracted, scaled twice and shifted: 8 operations. A row has a root and a division, besides two by c.
  static Cost cost(const Shape& s) {
    const double n = double(s.n), c = double(s.c);
    return {.bytes = 8 * n * c + 8 * c + 8 * n, .flops = 8 * n * c + 5 * n, .divisions = n, .roots = n};
  }

  /// Roundings of a sum over a row, and a few more; the bound is derived in moments.h.
  static double terms(const Shape& s) { return double(s.c) + 16; }

  /// epsilon is 1e-5; rows far from zero and rows of little variance among the others.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
