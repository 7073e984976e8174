// A small contract the checker is tested with: an output that is added to.
#pragma once

#include "reference/contract.h"

namespace klab {

struct ProbeScale {
  static constexpr std::string_view name = "probe_scale";
  static constexpr std::array dims = {"n"};
  struct Shape {
    int64_t n;
  };
  template <class T>
  struct Args {
    Shape shape;
    const T* factor;  // [1] f32
    const T* x;       // [n] f32
    T* y;             // [n] f32, accumulated (+=): y += factor·x
  };
  static void tensors(auto& x, auto&& visit) {
    visit("factor", x.factor, Role::input, Draw::real, {1});
    visit("x", x.x, Role::input, Draw::real, {x.shape.n});
    visit("y", x.y, Role::accumulate, Draw::real, {x.shape.n});
  }
  static Cost cost(const Shape& s) { return {12.0 * double(s.n) + 4, 2.0 * double(s.n)}; }
  static double terms(const Shape&) { return 2; }
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
