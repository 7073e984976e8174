// Contract of composite_loss_fwd: the loss of rays, from their samples.
//
//   color = sum_i w_i·rgb_i + T_n·background        composite_fwd
//   loss  = mean over channels of l(color - target)  pixel_loss_fwd
//
// Two ops in one: the color is needed only for the loss. Kinds of l as in pixel_loss_fwd, the early stop as
// in composite_fwd.
#pragma once

#include "reference/composite_fwd/composite_fwd.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"

namespace klab {

struct CompositeLossFwd {
  static constexpr std::string_view name = "composite_loss_fwd";
  static constexpr std::array dims = {"rays", "samples", "kind"};
  static constexpr double stop = CompositeFwd::stop;
  static constexpr float turn(int64_t kind) { return PixelLossFwd::turn(kind); }

  struct Shape {
    int64_t rays, samples;  // samples: of all rays together
    int64_t kind;           // 0 mean squared error, 1 Huber, 2 smooth L1
  };

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* ray_begin;  // [rays+1] i32, ascending from 0 to samples; ray r owns [begin[r], begin[r+1])
    const T* density_raw;      // [samples] f32, logarithm of the density
    const T* rgb;              // [3,samples] f32, in [0,1]
    const T* delta;            // [samples] f32, >= 0, length of the interval
    const T* background;       // [3,rays] f32, in [0,1]
    const T* target;           // [3,rays] f32, in [0,1]
    T* loss;                   // [rays] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t rays = args.shape.rays, samples = args.shape.samples;
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {rays + 1});
    visit("density_raw", args.density_raw, Role::input, Draw::real, {samples});
    visit("rgb", args.rgb, Role::input, Draw::unit, {3, samples});
    visit("delta", args.delta, Role::input, Draw::arranged, {samples});
    visit("background", args.background, Role::input, Draw::unit, {3, rays});
    visit("target", args.target, Role::input, Draw::unit, {3, rays});
    visit("loss", args.loss, Role::output, Draw::real, {rays});
  }

  static bool valid(const Shape& s) {
    return CompositeFwd::valid({s.rays, s.samples}) && PixelLossFwd::valid({s.rays, s.kind});
  }

  /// 20 bytes in a sample; 4 + 12 + 12 in and 4 out a ray. The operations of composite_fwd without opacity
  /// and depth, and those of pixel_loss_fwd; the two exponentials per sample belong to the former.
  static Cost cost(const Shape& s) {
    return {.bytes = 20.0 * double(s.samples) + 32.0 * double(s.rays) + 4,
            .flops = 40.0 * double(s.samples) + 24.0 * double(s.rays),
            .transcendentals = 2.0 * double(s.samples)};
  }

  /// Coefficient of u in the bound of composite_loss_fwd.cpp, which is proven. Variants declare
  /// Growth::linear.
  static double terms(const Shape&) { return 12; }

  /// Draws inputs like composite_fwd.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);

  /// The color of each ray by composite_fwd, and how far a variant's may be from it.
  struct Colors {
    std::vector<double> value, error;  // [3,rays]
  };
  static Colors colors(const Args<double>& x);
};

}  // namespace klab
