// Contract of composite_fwd: the volume-rendering sum along rays.
//
//   sigma_i = exp(raw_i)          density
//   tau_i   = sigma_i·delta_i     optical depth of sample i
//   T_i     = exp(-sum_{j<i} tau_j)   transmittance in front of sample i;  T_n behind the last of n
//   w_i     = T_i·(1 - exp(-tau_i)) = T_i·alpha_i
//   color   = sum_i w_i·rgb_i + T_n·background      opacity = sum_i w_i = 1 - T_n      depth = sum_i w_i·t_i
//
// (Max, "Optical models for direct volume rendering", 1995; Mildenhall et al., "NeRF", 2020, equation 3.) A
// ray without samples shows its background, with opacity and depth 0.
//
// A variant may stop a ray at the first sample with T < 1e-4: the samples behind it can change a color by at
// most that T. The tolerance has a term for it, only for rays that become that dark.
#pragma once

#include "reference/contract.h"

namespace klab {

struct CompositeFwd {
  static constexpr std::string_view name = "composite_fwd";
  static constexpr std::array dims = {"rays", "samples"};
  static constexpr double stop = 1e-4;  // transmittance below which a ray may be stopped

  struct Shape {
    int64_t rays, samples;  // samples: of all rays together
  };

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* ray_begin;  // [rays+1] i32, ascending from 0 to samples; ray r owns [begin[r], begin[r+1])
    const T* density_raw;      // [samples] f32, logarithm of the density
    const T* rgb;              // [3,samples] f32, in [0,1]
    const T* delta;            // [samples] f32, >= 0, length of the interval
    const T* t;                // [samples] f32, >= 0, distance of its middle
    const T* background;       // [3,rays] f32, in [0,1]
    T* color;                  // [3,rays] f32, written (=)
    T* opacity;                // [rays] f32, written (=)
    T* depth;                  // [rays] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t rays = args.shape.rays, samples = args.shape.samples;
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {rays + 1});
    visit("density_raw", args.density_raw, Role::input, Draw::real, {samples});
    visit("rgb", args.rgb, Role::input, Draw::unit, {3, samples});
    visit("delta", args.delta, Role::input, Draw::arranged, {samples});
    visit("t", args.t, Role::input, Draw::arranged, {samples});
    visit("background", args.background, Role::input, Draw::unit, {3, rays});
    visit("color", args.color, Role::output, Draw::real, {3, rays});
    visit("opacity", args.opacity, Role::output, Draw::real, {rays});
    visit("depth", args.depth, Role::output, Draw::real, {rays});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.samples >= 0 && s.samples < (int64_t(1) << 31) && (s.rays > 0 || s.samples == 0);
  }

  /// 24 bytes in a sample; 4 + 12 in and 20 out a ray. An exponential counts as 16 operations, about as many
  /// as a polynomial in float. Besides the two exponentials, a sample needs optical depth, sum, weight and
  /// four multiply-adds. The exponentials are those of the density and of the transparency of an interval:
  /// the transmittance is the product of transparencies. Samples behind the point where a ray may stop are
  /// counted like the others, since their number depends on the data, not on the shape.
  static Cost cost(const Shape& s) {
    return {.bytes = 24.0 * double(s.samples) + 36.0 * double(s.rays) + 4,
            .flops = 43.0 * double(s.samples) + 7.0 * double(s.rays),
            .transcendentals = 2.0 * double(s.samples)};
  }

  /// Coefficient of u in the bound of ray.h, which is proven. The lengths of the rays are in the magnitude,
  /// and so is the part that a stopped ray leaves out, which is no rounding. Variants declare Growth::linear.
  static double terms(const Shape&) { return 12; }

  /// Draws rays of random length, about one in five empty. Where densities are moderate, steps make a ray's
  /// optical depth 0 to 8, and 14 for one in 32. Where densities are wild, steps have a mean of 1, and there
  /// are walls. Densities outside exp(±14) are folded back. No moderate ray is so opaque that samples behind
  /// would be lost in the differences of a gradient check.
  static void arrange(const Args<float>& x, Generator& random);

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
