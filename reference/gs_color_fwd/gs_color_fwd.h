// Contract of gs_color_fwd: the color of Gaussians as seen from a point, from spherical harmonics.
//
//   v = (position - eye)/|position - eye|      color_c = max(0, 0.5 + sum_k Y_k(v)·coefficients[k,c])
//
// Y_k are the real spherical harmonics below degree 4, in the order and with the signs of splatting files. (Kerbl et al.,
// "3D Gaussian splatting for real-time radiance field rendering", ACM TOG 42(4), 2023, section 5; the 0.5 and the cut at 0
// are those of their program.)
#pragma once

#include "reference/contract.h"

namespace klab {

struct GsColorFwd {
  static constexpr std::string_view name = "gs_color_fwd";
  static constexpr std::array dims = {"n", "degree"};

  struct Shape {
    int64_t n;
    int64_t degree;  // 0 to 3
    int64_t functions() const { return (degree + 1) * (degree + 1); }
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* eye;           // [3] f32
    const T* position;      // [3,n] f32, none at the eye
    const T* coefficients;  // [functions,3,n] f32
    T* color;               // [3,n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("eye", args.eye, Role::input, Draw::arranged, {3});
    visit("position", args.position, Role::input, Draw::arranged, {3, n});
    visit("coefficients", args.coefficients, Role::input, Draw::arranged, {args.shape.functions(), 3, n});
    visit("color", args.color, Role::output, Draw::real, {3, n});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.degree >= 0 && s.degree <= 3; }

  /// Position, coefficients and color once. A function takes about two operations to evaluate and six to add
  /// to three sums.
  static Cost cost(const Shape& s) {
    const auto n = double(s.n), k = double(s.functions());
    return {.bytes = (24 + 12 * k) * n + 12, .flops = (14 + 8 * k) * n, .divisions = n, .roots = n};
  }

  /// Factor on the running error, for other orders.
  static double terms(const Shape&) { return 4; }

  /// Draws positions in the unit cube, the eye outside; no color within 0.01 of 0, some below.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
