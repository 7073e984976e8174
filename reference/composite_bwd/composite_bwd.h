// Contract of composite_bwd: gradients of the volume-rendering sum with respect to density and color.
//
// With the loss's gradients g (color), o (opacity) and z (depth) of one ray, the loss is to first order
//
//   L = sum_i w_i·p_i + T_n·q,    p_i = <g, rgb_i> + z·t_i,    q = <g, background> - o,
//
// because opacity = 1 - T_n. From dw_i/dtau_i = T_{i+1} and, for j > i, dw_j/dtau_i = -w_j and dT_n/dtau_i =
// -T_n:
//
//   dL/dtau_i = T_{i+1}·p_i - suffix_i,    suffix_i = sum_{j>i} w_j·p_j + T_n·q
//   dL/draw_i = exp'(raw_i)·delta_i·dL/dtau_i,    dL/drgb_i = w_i·g
//
// exp'(raw) = exp(clamp(raw, -15, 15)): a sample that became dense by accident still gets a gradient, and
// none overflows (instant-ngp does the same). A variant may leave samples behind T < 1e-4 at zero.
#pragma once

#include "reference/composite_fwd/composite_fwd.h"

namespace klab {

struct CompositeBwd {
  static constexpr std::string_view name = "composite_bwd";
  static constexpr std::array dims = {"rays", "samples"};
  using Forward = CompositeFwd;
  using Shape = CompositeFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* ray_begin;  // the inputs of composite_fwd
    const T* density_raw;
    const T* rgb;
    const T* delta;
    const T* t;
    const T* background;
    const T* d_color;    // [3,rays] f32, gradient of the loss with respect to color
    const T* d_opacity;  // [rays] f32
    const T* d_depth;    // [rays] f32
    T* d_density_raw;    // [samples] f32, written (=)
    T* d_rgb;            // [3,samples] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t rays = args.shape.rays, samples = args.shape.samples;
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {rays + 1});
    visit("density_raw", args.density_raw, Role::input, Draw::real, {samples});
    visit("rgb", args.rgb, Role::input, Draw::unit, {3, samples});
    visit("delta", args.delta, Role::input, Draw::arranged, {samples});
    visit("t", args.t, Role::input, Draw::arranged, {samples});
    visit("background", args.background, Role::input, Draw::unit, {3, rays});
    visit("d_color", args.d_color, Role::input, Draw::real, {3, rays});
    visit("d_opacity", args.d_opacity, Role::input, Draw::real, {rays});
    visit("d_depth", args.d_depth, Role::input, Draw::real, {rays});
    visit("d_density_raw", args.d_density_raw, Role::output, Draw::real, {samples});
    visit("d_rgb", args.d_rgb, Role::output, Draw::real, {3, samples});
  }

  static bool valid(const Shape& s) { return CompositeFwd::valid(s); }

  /// 24 bytes in and 16 out a sample, 36 in a ray. In addition to the forward's arithmetic: p and the running
  /// sum (8), the gradient of the density (5), that of the color (3). The forward's two exponentials per
  /// sample serve the gradient, too: exp'(raw) is the density, clamped.
  static Cost cost(const Shape& s) {
    return {.bytes = 40.0 * double(s.samples) + 36.0 * double(s.rays) + 4,
            .flops = 51.0 * double(s.samples) + 7.0 * double(s.rays),
            .transcendentals = 2.0 * double(s.samples)};
  }

  /// Coefficient of u in the bound of composite_bwd.cpp, proven like the forward's.
  static double terms(const Shape&) { return 24; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
