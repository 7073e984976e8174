// Contract of sample_weights_bwd: adds the gradient of the samples' weights to that of the densities.
//
//   d_raw_i += slope_i·( T_{i+1}·g_i - sum_{j>i} w_j·g_j ),   g = d_weights,   slope = exp(clamp(raw, -15, 15))·delta
#pragma once

#include "reference/sample_weights_fwd/sample_weights_fwd.h"

namespace klab {

struct SampleWeightsBwd {
  static constexpr std::string_view name = "sample_weights_bwd";
  static constexpr std::array dims = {"rays", "samples"};
  using Forward = SampleWeightsFwd;
  using Shape = SampleWeightsFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* ray_begin;  // [rays+1] i32
    const T* density_raw;      // [samples] f32
    const T* delta;            // [samples] f32
    const T* d_weights;        // [samples] f32
    T* d_density_raw;          // [samples] f32, added to (+=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("density_raw", args.density_raw, Role::input, Draw::real, {s.samples});
    visit("delta", args.delta, Role::input, Draw::arranged, {s.samples});
    visit("d_weights", args.d_weights, Role::input, Draw::real, {s.samples});
    visit("d_density_raw", args.d_density_raw, Role::accumulate, Draw::real, {s.samples});
  }

  static bool valid(const Shape& s) { return SampleWeightsFwd::valid(s); }

  /// Three numbers in, one read and written a sample.
  static Cost cost(const Shape& s) {
    return {.bytes = 20 * double(s.samples) + 4 * double(s.rays),
            .flops = 40 * double(s.samples),
            .transcendentals = 2 * double(s.samples)};
  }

  /// Like the forward, once more on the way back.
  static double terms(const Shape&) { return 32; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
