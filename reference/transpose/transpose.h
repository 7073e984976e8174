// Contract of transpose: out = inᵀ.
#pragma once

#include "reference/contract.h"

namespace klab {

struct Transpose {
  static constexpr std::string_view name = "transpose";
  static constexpr std::array dims = {"m", "n"};

  struct Shape {
    int64_t m, n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* in;  // [m,n] f32 row-major, input
    T* out;       // [n,m] f32 row-major, written (=): out[j,i] = in[i,j]
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [m, n] = args.shape;
    visit("in", args.in, Role::input, Draw::real, {m, n});
    visit("out", args.out, Role::output, Draw::real, {n, m});
  }

  /// One read and one write of 4 bytes per element, no arithmetic.
  static Cost cost(const Shape& s) { return {8.0 * double(s.m) * double(s.n), 0.0}; }

  /// Nothing is rounded: results are bit-exact.
  static double terms(const Shape&) { return 0; }

  /// magnitude.out = |in|ᵀ.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
