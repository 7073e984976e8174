// Contract of matmul: C = A·B.
#pragma once

#include "reference/contract.h"

namespace klab {

struct Matmul {
  static constexpr std::string_view name = "matmul";
  static constexpr std::array dims = {"m", "n", "k"};

  struct Shape {
    int64_t m, n, k;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* a;  // [m,k] f32 row-major, input
    const T* b;  // [k,n] f32 row-major, input
    T* c;        // [m,n] f32 row-major, written (=); zeros when k = 0
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [m, n, k] = args.shape;
    visit("a", args.a, Role::input, Draw::real, {m, k});
    visit("b", args.b, Role::input, Draw::real, {k, n});
    visit("c", args.c, Role::output, Draw::real, {m, n});
  }

  /// Each matrix moved once, 4 bytes per element; a multiplication and an addition for each (i,j,p).
  static Cost cost(const Shape& s) {
    const double m = double(s.m), n = double(s.n), k = double(s.k);
    return {4 * (m * k + k * n + m * n), 2 * m * n * k};
  }

  /// A product takes part in at most k roundings, its own and those of k−1 sums, in whatever order they are
  /// summed: |error| <= γ_k Σ|a||b| (Higham, Accuracy and Stability of Numerical Algorithms, eq. 3.5). Two at the
  /// least, for variants that round both factors to a shorter format and sum in a longer one.
  static double terms(const Shape& s) { return s.k == 1 ? 2 : double(s.k); }

  /// x.c = A·B; magnitude.c[i,j] = Σ_p |a[i,p]|·|b[p,j]|. Uses all processors for large shapes.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
