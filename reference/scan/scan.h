// Contract of scan: exclusive prefix sums of whole numbers.
//
//   y_i = x_0 + ... + x_{i-1}   modulo 2^32;  y_0 = 0
//
// Unsigned words of 32 bits: sums wrap around, so that addition is associative without rounding and every order gives the same
// bits.
#pragma once

#include "reference/contract.h"

namespace klab {

struct Scan {
  static constexpr std::string_view name = "scan";
  static constexpr std::array dims = {"n"};

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const uint32_t* x;  // [n] u32, input
    uint32_t* y;        // [n] u32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    visit("x", args.x, Role::input, Draw::arranged, {args.shape.n});
    visit("y", args.y, Role::output, Draw::real, {args.shape.n});
  }

  /// One read and one write of 4 bytes an element.
  static Cost cost(const Shape& s) { return {.bytes = 8.0 * double(s.n), .flops = 0}; }

  /// Whole numbers: exact.
  static double terms(const Shape&) { return 0; }

  /// Counts below 100; widely also words over all bits, zeros and ones, one at a single place.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
