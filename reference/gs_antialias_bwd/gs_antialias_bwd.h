// Contract of gs_antialias_bwd: gradients of gs_antialias_fwd.
//
// With the forward's names, f = sqrt(max(q, 2.5e-5)) and g = d_shown·opacity/(2·f), which is 0 where q <= 2.5e-5:
//   d_opacity = d_shown·f
//   d_conic += (-b·(1 - b·yy), -2·b^2·xy, -b·(1 - b·xx))·g
// The gradient of xy is that of both of its places, as in gs_rasterize_bwd, to whose result it is added.
#pragma once

#include "reference/gs_antialias_fwd/gs_antialias_fwd.h"

namespace klab {

struct GsAntialiasBwd {
  using Forward = GsAntialiasFwd;
  static constexpr std::string_view name = "gs_antialias_bwd";
  static constexpr std::array dims = {"n"};
  using Shape = GsAntialiasFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* conic;    // [3,n] f32
    const T* opacity;  // [n] f32
    const T* d_shown;  // [n] f32
    T* d_opacity;      // [n] f32, written (=)
    T* d_conic;        // [3,n] f32, added to (+=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("conic", args.conic, Role::input, Draw::arranged, {3, n});
    visit("opacity", args.opacity, Role::input, Draw::unit, {n});
    visit("d_shown", args.d_shown, Role::input, Draw::real, {n});
    visit("d_opacity", args.d_opacity, Role::output, Draw::real, {n});
    visit("d_conic", args.d_conic, Role::accumulate, Draw::real, {3, n});
  }

  /// 20 bytes in, 4 out, 24 read and written. The forward's 9 up to the root, d_opacity 1, g 3, three gradients 8; a root and a
  /// reciprocal.
  static Cost cost(const Shape& s) {
    const auto n = double(s.n);
    return {.bytes = 48 * n, .flops = 21 * n, .divisions = n, .roots = n};
  }

  static double terms(const Shape&) { return 4; }

  /// Draws inputs like the forward.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
