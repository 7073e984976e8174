// A small contract the checker is tested with: whole numbers out, positions in.
#pragma once

#include "reference/contract.h"

namespace klab {

/// How many of n positions lie in each of 16 bins.
struct ProbeCount {
  static constexpr std::string_view name = "probe_count";
  static constexpr std::array dims = {"n"};
  struct Shape {
    int64_t n;
  };
  template <class T>
  struct Args {
    Shape shape;
    const T* x;      // [n] f32 in [0,1)
    int32_t* count;  // [16] i32, written (=)
  };
  static void tensors(auto& x, auto&& visit) {
    visit("x", x.x, Role::input, Draw::unit, {x.shape.n});
    visit("count", x.count, Role::output, Draw::real, {16});
  }
  static Cost cost(const Shape& s) { return {4.0 * double(s.n) + 64, double(s.n)}; }
  static double terms(const Shape&) { return 0; }
  static void reference(const Args<double>& x, const Args<double>&);
};

}  // namespace klab
