// Contract of axpy: y += a·x, as in BLAS.
#pragma once

#include "reference/contract.h"

namespace klab {

struct Axpy {
  static constexpr std::string_view name = "axpy";
  static constexpr std::array dims = {"n"};

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* a;  // [1] f32
    const T* x;  // [n] f32
    T* y;        // [n] f32, added to (+=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("a", args.a, Role::input, Draw::real, {1});
    visit("x", args.x, Role::input, Draw::real, {s.n});
    visit("y", args.y, Role::accumulate, Draw::real, {s.n});
  }

  /// Two numbers in and one out an entry.
  static Cost cost(const Shape& s) { return {.bytes = 12 * double(s.n), .flops = 2 * double(s.n)}; }

  /// A product and a sum.
  static double terms(const Shape&) { return 3; }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
