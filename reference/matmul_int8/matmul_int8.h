// Contract of matmul_int8: a product of quantized matrices, dequantized by a scale for each column.
//
//   c[i,j] = scale[j] · Σ_p a[i,p]·b[p,j]        the sum exact, an integer; then a float, then scaled
//
// For inference: b are a layer's weights, each output channel with its own scale, and a the activations,
// whose one scale is multiplied into the others (Jacob et al., "Quantization and training of neural
// networks", 2018; symmetric, no zero points). k is below 2^17, so that no sum leaves 32 bits: 2^17·128·128 =
// 2^31.
#pragma once

#include "reference/contract.h"

namespace klab {

struct MatmulInt8 {
  static constexpr std::string_view name = "matmul_int8";
  static constexpr std::array dims = {"m", "n", "k"};

  struct Shape {
    int64_t m, n, k;
  };

  template <class T>
  struct Args {
    Shape shape;
    const int8_t* a;  // [m,k] row-major
    const int8_t* b;  // [k,n] row-major
    const T* scale;   // [n] f32
    T* c;             // [m,n] f32 row-major, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [m, n, k] = args.shape;
    visit("a", args.a, Role::input, Draw::real, {m, k});
    visit("b", args.b, Role::input, Draw::real, {k, n});
    visit("scale", args.scale, Role::input, Draw::real, {n});
    visit("c", args.c, Role::output, Draw::real, {m, n});
  }

  static bool valid(const Shape& s) { return s.m >= 0 && s.n >= 0 && s.k >= 0 && s.k < (int64_t{1} << 17); }

  /// A byte for each factor, four for each result and each scale. A multiplication and an addition for each (i,j,p), of
  /// integers, and a conversion and a product for each result.
  static Cost cost(const Shape& s) {
    const double m = double(s.m), n = double(s.n), k = double(s.k);
    return {
        .bytes = m * k + k * n + 4 * (m * n + n), .flops = 2 * m * n * k + 2 * m * n, .flops_per_lane = 4};
  }

  /// The sum becomes a float, and the product is rounded.
  static double terms(const Shape&) { return 2; }

  /// -128, which a symmetric quantizer does not make but an int8 may be, among the factors.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
