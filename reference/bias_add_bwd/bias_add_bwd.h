// Contract of bias_add_bwd: the gradient of a bias is the sum of the gradients of all it was added to.
//
//   d_bias[c] = sum over n and hw of d_y[n,c,hw]
//
// The gradient of x is d_y itself, so nothing is written for it.
#pragma once

#include "reference/bias_add_fwd/bias_add_fwd.h"

namespace klab {

struct BiasAddBwd {
  static constexpr std::string_view name = "bias_add_bwd";
  static constexpr std::array dims = {"n", "c", "hw"};
  using Forward = BiasAddFwd;
  using Shape = BiasAddFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* d_y;  // [n,c,hw] f32 row-major (NCHW)
    T* d_bias;     // [c] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c, hw] = args.shape;
    visit("d_y", args.d_y, Role::input, Draw::real, {n, c, hw});
    visit("d_bias", args.d_bias, Role::output, Draw::real, {c});
  }

  /// d_y read, a number per channel written.
  static Cost cost(const Shape& s) {
    const double all = double(s.n) * double(s.c) * double(s.hw);
    return {.bytes = 4 * all + 4 * double(s.c), .flops = all};
  }

  /// Roundings of a sum over a channel.
  static double terms(const Shape& s) { return double(s.n) * double(s.hw) + 1; }

  static void reference(const Args<double>& x, const Args<double>& magnitude) {
    const auto [n, c, hw] = x.shape;
    for (int64_t j = 0; j < c; ++j) x.d_bias[j] = magnitude.d_bias[j] = 0;
    for (int64_t i = 0; i < n * c * hw; ++i) {
      const double d = x.d_y[i];
      x.d_bias[i / hw % c] += d;
      magnitude.d_bias[i / hw % c] += d < 0 ? -d : d;
    }
  }
};

}  // namespace klab
