// Contract of host_vector_add: c = a + b, all three in the host's memory.
//
// Variants run on a device: they copy their inputs there and their results back.
#pragma once

#include "reference/contract.h"

namespace klab {

struct HostVectorAdd {
  static constexpr std::string_view name = "host_vector_add";
  static constexpr std::array dims = {"n"};
  static constexpr bool tensors_on_host = true;

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* a;  // [n] f32, input
    const T* b;  // [n] f32, input
    T* c;        // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("a", args.a, Role::input, Draw::real, {n});
    visit("b", args.b, Role::input, Draw::real, {n});
    visit("c", args.c, Role::output, Draw::real, {n});
  }

  /// Over the bus: two floats there, one back, one addition an element.
  static Cost cost(const Shape& s) { return {12.0 * double(s.n), double(s.n)}; }

  /// One rounding: the sum of two floats is correctly rounded, so |error| <= u·|a + b| <= u·(|a| + |b|).
  static double terms(const Shape&) { return 1; }

  /// magnitude.c = |a| + |b|.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
