// Contract of composite_loss_bwd: from samples and target straight to the gradients of density and color, and
// the loss.
//
//   g = dL/dcolor = d_loss/3·l'(color - target)              pixel_loss_bwd
//   dL/drgb_i = w_i·g,   dL/draw_i as in composite_bwd with this g and no gradient of opacity and depth
//
// A training step that needs only the colors' loss calls this op instead of composite_fwd, pixel_loss_fwd,
// pixel_loss_bwd and composite_bwd.
#pragma once

#include "reference/composite_loss_fwd/composite_loss_fwd.h"

namespace klab {

struct CompositeLossBwd {
  static constexpr std::string_view name = "composite_loss_bwd";
  static constexpr std::array dims = {"rays", "samples", "kind"};
  using Forward = CompositeLossFwd;
  using Shape = CompositeLossFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* ray_begin;  // the inputs of composite_loss_fwd
    const T* density_raw;
    const T* rgb;
    const T* delta;
    const T* background;
    const T* target;
    const T* d_loss;   // [rays] f32
    T* loss;           // [rays] f32, written (=)
    T* d_density_raw;  // [samples] f32, written (=)
    T* d_rgb;          // [3,samples] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t rays = args.shape.rays, samples = args.shape.samples;
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {rays + 1});
    visit("density_raw", args.density_raw, Role::input, Draw::real, {samples});
    visit("rgb", args.rgb, Role::input, Draw::unit, {3, samples});
    visit("delta", args.delta, Role::input, Draw::arranged, {samples});
    visit("background", args.background, Role::input, Draw::unit, {3, rays});
    visit("target", args.target, Role::input, Draw::unit, {3, rays});
    visit("d_loss", args.d_loss, Role::input, Draw::real, {rays});
    visit("loss", args.loss, Role::output, Draw::real, {rays});
    visit("d_density_raw", args.d_density_raw, Role::output, Draw::real, {samples});
    visit("d_rgb", args.d_rgb, Role::output, Draw::real, {3, samples});
  }

  static bool valid(const Shape& s) { return CompositeLossFwd::valid(s); }

  /// 20 bytes in and 16 out a sample, 32 in and 4 out a ray. In addition to the forward's arithmetic: 16
  /// operations a sample, as in composite_bwd, and 12 a ray, as in pixel_loss_bwd. Two exponentials per
  /// sample, as in the forward.
  static Cost cost(const Shape& s) {
    return {.bytes = 36.0 * double(s.samples) + 36.0 * double(s.rays) + 4,
            .flops = 56.0 * double(s.samples) + 36.0 * double(s.rays),
            .transcendentals = 2.0 * double(s.samples)};
  }

  /// Coefficient of u in the bound of composite_loss_bwd.cpp, which is proven. Variants declare
  /// Growth::linear.
  static double terms(const Shape&) { return 32; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
