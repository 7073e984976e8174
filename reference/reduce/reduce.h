// Contract of reduce: the sum of n numbers.
#pragma once

#include "reference/contract.h"

namespace klab {

struct Reduce {
  static constexpr std::string_view name = "reduce";
  static constexpr std::array dims = {"n"};

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;  // [n] f32, input
    T* sum;      // [1] f32, written (=); 0 for n = 0
  };

  static void tensors(auto& args, auto&& visit) {
    visit("x", args.x, Role::input, Draw::real, {args.shape.n});
    visit("sum", args.sum, Role::output, Draw::real, {1});
  }

  /// One read of 4 bytes and one addition an element.
  static Cost cost(const Shape& s) { return {4.0 * double(s.n) + 4, double(s.n)}; }

  /// A sum of n numbers has n - 1 additions in any order, each rounded once: |error| <= (n - 1)·u·(|x_0| + ... + |x_n-1|) to
  /// first order (Higham, section 4.2).
  static double terms(const Shape& s) { return s.n < 2 ? 1 : double(s.n - 1); }

  /// magnitude.sum = |x_0| + ... + |x_n-1|, or 0 where no order of the additions rounds: for whole numbers, if that is 2^24 at
  /// most, all partial sums are whole numbers that a float holds.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
