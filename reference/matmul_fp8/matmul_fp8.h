// Contract of matmul_fp8: a product of matrices of e4m3, with a scale for each column.
//
//   c[i,j] = scale[j] · Σ_p a[i,p]·b[p,j]        factors are exact numbers of 8 bits; sums are rounded
//
// A tensor of e4m3 has been divided by a scale before it was rounded (cast); b's scales, one a column, and
// a's, which is one, are multiplied together and come back here (Micikevicius et al., "FP8 Formats for Deep
// Learning", 2022).
//
// The arithmetic of NVIDIA's tensor cores with fp8 is not specified. Measured on Hopper, they align the 32
// products of an instruction and the sum before to the largest of them and keep some 14 bits (DeepSeek-AI,
// "DeepSeek-V3 Technical Report", 2024, section 3.3.2). A rung that adds so declares the unit of 11 bits,
// f16; the others are held to float's.
#pragma once

#include "reference/contract.h"

namespace klab {

struct MatmulFp8 {
  static constexpr std::string_view name = "matmul_fp8";
  static constexpr std::array dims = {"m", "n", "k"};

  struct Shape {
    int64_t m, n, k;
  };

  template <class T>
  struct Args {
    Shape shape;
    const uint8_t* a;  // [m,k] e4m3 row-major, no NaN
    const uint8_t* b;  // [k,n] e4m3 row-major, no NaN
    const T* scale;    // [n] f32
    T* c;              // [m,n] f32 row-major, written (=); zeros when k = 0
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [m, n, k] = args.shape;
    visit("a", args.a, Role::input, Draw::arranged, {m, k});
    visit("b", args.b, Role::input, Draw::arranged, {k, n});
    visit("scale", args.scale, Role::input, Draw::real, {n});
    visit("c", args.c, Role::output, Draw::real, {m, n});
  }

  static bool valid(const Shape& s) { return s.m >= 0 && s.n >= 0 && s.k >= 0; }

  /// A byte for each factor, four for each result and each scale. A multiplication and an addition for each (i,j,p), and a
  /// product for each result.
  static Cost cost(const Shape& s) {
    const double m = double(s.m), n = double(s.n), k = double(s.k);
    return {.bytes = m * k + k * n + 4 * (m * n + n), .flops = 2 * m * n * k + m * n, .flops_per_lane = 4};
  }

  /// The product of two e4m3s is a float, exactly; the k sums are rounded, and the last product.
  static double terms(const Shape& s) { return double(s.k) + 1; }

  /// Factors: any finite pattern, the largest, the smallest and both zeros among them.
  static void arrange(const Args<float>& x, Generator& random);
  /// magnitude.c[i,j] = |scale| · Σ_p |a|·|b|.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
