// Contract of gs_color_bwd: gradients of the colors of Gaussians, with respect to coefficients and positions.
//
//   g_c = d_color_c where color_c > 0, else 0          d_coefficients[k,c] = Y_k(v)·g_c
//   d_v = sum_k,c coefficients[k,c]·g_c·grad Y_k(v)    d_position = (d_v - v·<v,d_v>)/|position - eye|
#pragma once

#include "reference/gs_color_fwd/gs_color_fwd.h"

namespace klab {

struct GsColorBwd {
  using Forward = GsColorFwd;
  static constexpr std::string_view name = "gs_color_bwd";
  static constexpr std::array dims = {"n", "degree"};
  using Shape = GsColorFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* eye;           // [3] f32
    const T* position;      // [3,n] f32
    const T* coefficients;  // [functions,3,n] f32
    const T* d_color;       // [3,n] f32
    T* d_position;          // [3,n] f32, written (=)
    T* d_coefficients;      // [functions,3,n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n, functions = args.shape.functions();
    visit("eye", args.eye, Role::input, Draw::arranged, {3});
    visit("position", args.position, Role::input, Draw::arranged, {3, n});
    visit("coefficients", args.coefficients, Role::input, Draw::arranged, {functions, 3, n});
    visit("d_color", args.d_color, Role::input, Draw::real, {3, n});
    visit("d_position", args.d_position, Role::output, Draw::real, {3, n});
    visit("d_coefficients", args.d_coefficients, Role::output, Draw::real, {functions, 3, n});
  }

  static bool valid(const Shape& s) { return GsColorFwd::valid(s); }

  /// Bytes of the forward, the gradient, and the results; 8 operations of the forward for each function, 3
  /// products for its coefficients, 12 for the view.
  static Cost cost(const Shape& s) {
    const auto n = double(s.n), k = double(s.functions());
    return {.bytes = (36 + 24 * k) * n + 12, .flops = (30 + 23 * k) * n, .divisions = n, .roots = n};
  }

  static double terms(const Shape&) { return 4; }

  /// Draws inputs like the forward.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
