// Contract of rmsnorm_fwd: every row divided by its root mean square.
//
//   rrms = 1/sqrt(sum_j x_j^2 / c + epsilon)        y_j = gamma_j·x_j·rrms
//
// (Zhang and Sennrich, "Root mean square layer normalization", 2019.) No mean is taken out and nothing is added: one sum
// a row, and no difference in it.
#pragma once

#include "reference/contract.h"

namespace klab {

struct RmsnormFwd {
  static constexpr std::string_view name = "rmsnorm_fwd";
  static constexpr std::array dims = {"n", "c"};

  struct Shape {
    int64_t n;  // rows
    int64_t c;  // features of a row, at least one
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;        // [n,c] f32 row-major
    const T* gamma;    // [c] f32
    const T* epsilon;  // [1] f32, at least 1e-12
    T* y;              // [n,c] f32 row-major, written (=)
    T* rrms;           // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, c});
    visit("gamma", args.gamma, Role::input, Draw::real, {c});
    visit("epsilon", args.epsilon, Role::input, Draw::arranged, {1});
    visit("y", args.y, Role::output, Draw::real, {n, c});
    visit("rrms", args.rrms, Role::output, Draw::real, {n});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.c >= 1 && s.c < (int64_t{1} << 31); }

  /// x and gamma read once, y and a number per row written; a square, an addition and two products a feature.
  static Cost cost(const Shape& s) {
    const double n = double(s.n), c = double(s.c);
    return {.bytes = 8 * n * c + 4 * c + 4 * n, .flops = 4 * n * c + 4 * n, .divisions = n, .roots = n};
  }

  /// Roundings of a sum over a row, and a few more.
  static double terms(const Shape& s) { return double(s.c) + 16; }

  /// epsilon is 1e-5; some rows have squares near it.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
