// Contract of bias_add_fwd: one number added to each channel.
//
//   y[n,c,hw] = x[n,c,hw] + bias[c]
#pragma once

#include "reference/contract.h"

namespace klab {

struct BiasAddFwd {
  static constexpr std::string_view name = "bias_add_fwd";
  static constexpr std::array dims = {"n", "c", "hw"};

  struct Shape {
    int64_t n;   // examples
    int64_t c;   // channels
    int64_t hw;  // positions of a channel: height times width of an image, 1 behind a matrix product
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;     // [n,c,hw] f32 row-major (NCHW)
    const T* bias;  // [c] f32
    T* y;           // [n,c,hw] f32 row-major, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, c, hw] = args.shape;
    visit("x", args.x, Role::input, Draw::real, {n, c, hw});
    visit("bias", args.bias, Role::input, Draw::real, {c});
    visit("y", args.y, Role::output, Draw::real, {n, c, hw});
  }

  /// x and bias read, y written.
  static Cost cost(const Shape& s) {
    const double all = double(s.n) * double(s.c) * double(s.hw);
    return {.bytes = 8 * all + 4 * double(s.c), .flops = all};
  }

  /// One rounding.
  static double terms(const Shape&) { return 1; }

  static void reference(const Args<double>& x, const Args<double>& magnitude) {
    const auto [n, c, hw] = x.shape;
    for (int64_t i = 0; i < n * c * hw; ++i) {
      x.y[i] = x.x[i] + x.bias[i / hw % c];
      magnitude.y[i] = x.y[i] < 0 ? -x.y[i] : x.y[i];
    }
  }
};

}  // namespace klab
