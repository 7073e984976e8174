// Contract of matmul_bf16: C = A·B of bfloat16 factors, with sums in float.
#pragma once

#include "reference/contract.h"
#include "reference/float16.h"

namespace klab {

struct MatmulBf16 {
  static constexpr std::string_view name = "matmul_bf16";
  static constexpr std::array dims = {"m", "n", "k"};

  struct Shape {
    int64_t m, n, k;
  };

  template <class T>
  struct Args {
    Shape shape;
    const Bfloat16* a;  // [m,k] bf16 row-major
    const Bfloat16* b;  // [k,n] bf16 row-major
    T* c;               // [m,n] f32 row-major, written (=); zeros when k = 0
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [m, n, k] = args.shape;
    visit("a", args.a, Role::input, Draw::real, {m, k});
    visit("b", args.b, Role::input, Draw::real, {k, n});
    visit("c", args.c, Role::output, Draw::real, {m, n});
  }

  /// Two bytes for each factor, four for each sum; a multiplication and an addition for each (i,j,p).
  static Cost cost(const Shape& s) {
    const double m = double(s.m), n = double(s.n), k = double(s.k);
    return {.bytes = 2 * (m * k + k * n) + 4 * m * n, .flops = 2 * m * n * k, .flops_per_lane = 2};
  }

  /// The product of two bfloat16s is a float, exactly; only the k sums remain, in any order.
  static double terms(const Shape& s) { return double(s.k < 1 ? 1 : s.k); }

  /// magnitude.c[i,j] = Σ_p |a|·|b| and the losses of instructions that take denormals for zero, in factors
  /// and in sums (Intel's VDPBF16PS does, in every mode of the processor): 2^-126 for each sum, and times the
  /// other factor for each factor.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
