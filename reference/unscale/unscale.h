// Contract of unscale: a gradient without the factor that kept it from underflowing: gradient /= scale, or
// all zero where it is not finite.
//
// (Micikevicius et al., "Mixed Precision Training", 2018.) `first` is the result of all_finite: 2^31 - 1
// means that all entries are finite. An optimizer that skips entries without a gradient then skips the step.
#pragma once

#include "reference/contract.h"

namespace klab {

struct Unscale {
  static constexpr std::string_view name = "unscale";
  static constexpr std::array dims = {"n"};

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* scale;        // [1] f32, a power of two
    const int32_t* first;  // [1] i32
    T* gradient;           // [n] f32, read and written
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("scale", args.scale, Role::input, Draw::arranged, {1});
    visit("first", args.first, Role::input, Draw::arranged, {1});
    visit("gradient", args.gradient, Role::accumulate, Draw::real, {s.n});
  }

  /// Every entry in and out.
  static Cost cost(const Shape& s) { return {.bytes = 8 * double(s.n), .flops = double(s.n)}; }

  /// A product with a power of two.
  static double terms(const Shape&) { return 2; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
