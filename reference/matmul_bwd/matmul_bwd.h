// Contract of matmul_bwd: the gradients of C = A·B with respect to A and B, d_a = d_c·Bᵀ and d_b = Aᵀ·d_c.
//
// From c[i,j] = Σ_p a[i,p] b[p,j] and the loss L(C): d_a[i,p] = Σ_j ∂L/∂c[i,j] b[p,j] = Σ_j d_c[i,j] b[p,j],
// and d_b[p,j] = Σ_i a[i,p] d_c[i,j].
#pragma once

#include <algorithm>

#include "reference/matmul/matmul.h"

namespace klab {

struct MatmulBwd {
  using Forward = Matmul;
  static constexpr std::string_view name = "matmul_bwd";
  static constexpr std::array dims = {"m", "n", "k"};

  struct Shape {
    int64_t m, n, k;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* a;    // [m,k] f32 row-major, input
    const T* b;    // [k,n] f32 row-major, input
    const T* d_c;  // [m,n] f32 row-major, input: gradient of the loss with respect to C
    T* d_a;        // [m,k] f32 row-major, written (=); zeros when n = 0
    T* d_b;        // [k,n] f32 row-major, written (=); zeros when m = 0
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [m, n, k] = args.shape;
    visit("a", args.a, Role::input, Draw::real, {m, k});
    visit("b", args.b, Role::input, Draw::real, {k, n});
    visit("d_c", args.d_c, Role::input, Draw::real, {m, n});
    visit("d_a", args.d_a, Role::output, Draw::real, {m, k});
    visit("d_b", args.d_b, Role::output, Draw::real, {k, n});
  }

  /// Three matrices read and two written once; two products of 2·m·n·k operations.
  static Cost cost(const Shape& s) {
    const double m = double(s.m), n = double(s.n), k = double(s.k);
    return {4 * (2 * m * k + 2 * k * n + m * n), 4 * m * n * k};
  }

  /// d_a sums n products, d_b sums m; the longer sum bounds both. Two at the least, as in the forward.
  static double terms(const Shape& s) {
    const int64_t longest = std::max(s.m, s.n);
    return longest == 1 ? 2 : double(longest);
  }

  /// x.d_a, x.d_b as above; magnitude.d_a = |d_c|·|B|ᵀ, magnitude.d_b = |A|ᵀ·|d_c|.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
