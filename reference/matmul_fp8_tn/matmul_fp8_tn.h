// Contract of matmul_fp8_tn: matmul_fp8 with b stored by columns, so that both factors lie along k.
//
//   c[i,j] = scale[j] · Σ_p a[i,p]·b[j,p]        factors are exact numbers of 8 bits; sums are rounded
//
// Tensor cores take bytes only in that order ("TN"). Weights are stored once and used often, so their order is chosen when they are
// stored, and nothing is transposed here. Numbers, scales and errors are those of matmul_fp8.
#pragma once

#include "reference/contract.h"
#include "reference/matmul_fp8/matmul_fp8.h"

namespace klab {

struct MatmulFp8Tn {
  static constexpr std::string_view name = "matmul_fp8_tn";
  static constexpr std::array dims = {"m", "n", "k"};

  using Shape = MatmulFp8::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const uint8_t* a;  // [m,k] e4m3 row-major, no NaN
    const uint8_t* b;  // [n,k] e4m3 row-major, no NaN
    const T* scale;    // [n] f32
    T* c;              // [m,n] f32 row-major, written (=); zeros when k = 0
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [m, n, k] = args.shape;
    visit("a", args.a, Role::input, Draw::arranged, {m, k});
    visit("b", args.b, Role::input, Draw::arranged, {n, k});
    visit("scale", args.scale, Role::input, Draw::real, {n});
    visit("c", args.c, Role::output, Draw::real, {m, n});
  }

  static bool valid(const Shape& s) { return MatmulFp8::valid(s); }
  static Cost cost(const Shape& s) { return MatmulFp8::cost(s); }
  static double terms(const Shape& s) { return MatmulFp8::terms(s); }

  /// Factors as matmul_fp8 has them.
  static void arrange(const Args<float>& x, Generator& random);
  /// magnitude.c[i,j] = |scale| · Σ_p |a|·|b|.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
