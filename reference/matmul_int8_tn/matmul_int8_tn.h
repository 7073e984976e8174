// Contract of matmul_int8_tn: matmul_int8 with b stored by columns, so that both factors lie along k.
//
//   c[i,j] = scale[j] · Σ_p a[i,p]·b[j,p]        the sum exact, an integer; then a float, then scaled
//
// Tensor cores take bytes only in that order ("TN"). Weights are stored once and used often, so their order is chosen when they are
// stored, and nothing is transposed here. Numbers, scales and errors are those of matmul_int8.
#pragma once

#include "reference/contract.h"
#include "reference/matmul_int8/matmul_int8.h"

namespace klab {

struct MatmulInt8Tn {
  static constexpr std::string_view name = "matmul_int8_tn";
  static constexpr std::array dims = {"m", "n", "k"};

  using Shape = MatmulInt8::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const int8_t* a;  // [m,k] row-major
    const int8_t* b;  // [n,k] row-major
    const T* scale;   // [n] f32
    T* c;             // [m,n] f32 row-major, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [m, n, k] = args.shape;
    visit("a", args.a, Role::input, Draw::real, {m, k});
    visit("b", args.b, Role::input, Draw::real, {n, k});
    visit("scale", args.scale, Role::input, Draw::real, {n});
    visit("c", args.c, Role::output, Draw::real, {m, n});
  }

  static bool valid(const Shape& s) { return MatmulInt8::valid(s); }
  static Cost cost(const Shape& s) { return MatmulInt8::cost(s); }
  static double terms(const Shape& s) { return MatmulInt8::terms(s); }

  /// Factors as matmul_int8 has them.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
