// Small contracts the checker is tested with: a function that is curved, with a kink at 0, and its backward.
#pragma once

#include "reference/contract.h"

namespace klab {

/// y = exp(min(x,3))·w for x >= 0, w below 0.
struct ProbeBend {
  static constexpr std::string_view name = "probe_bend";
  static constexpr std::array dims = {"n"};
  struct Shape {
    int64_t n;
  };
  template <class T>
  struct Args {
    Shape shape;
    const T* x;  // [n] f32, away from 0 and 3
    const T* w;  // [n] f32
    T* y;        // [n] f32, written (=)
  };
  static void tensors(auto& x, auto&& visit) {
    visit("x", x.x, Role::input, Draw::real, {x.shape.n});
    visit("w", x.w, Role::input, Draw::real, {x.shape.n});
    visit("y", x.y, Role::output, Draw::real, {x.shape.n});
  }
  static Cost cost(const Shape& s) { return {12.0 * double(s.n), 4.0 * double(s.n)}; }
  /// exp to within 2 units, one product.
  static double terms(const Shape&) { return 4; }
  static void arrange(const Args<float>& x, Generator&);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

struct ProbeBendBwd {
  using Forward = ProbeBend;
  static constexpr std::string_view name = "probe_bend_bwd";
  static constexpr std::array dims = {"n"};
  using Shape = ProbeBend::Shape;
  template <class T>
  struct Args {
    Shape shape;
    const T* x;    // [n] f32, away from 0 and 3
    const T* y;    // [n] f32, the forward's result for x and w
    const T* d_y;  // [n] f32
    T* d_x;        // [n] f32, accumulated (+=)
  };
  static void tensors(auto& x, auto&& visit) {
    visit("x", x.x, Role::input, Draw::real, {x.shape.n});
    visit("y", x.y, Role::input, Draw::real, {x.shape.n});
    visit("d_y", x.d_y, Role::input, Draw::real, {x.shape.n});
    visit("d_x", x.d_x, Role::accumulate, Draw::real, {x.shape.n});
  }
  static Cost cost(const Shape& s) { return {20.0 * double(s.n), 2.0 * double(s.n)}; }
  static double terms(const Shape&) { return 2; }
  static void arrange(const Args<float>& x, Generator&);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
