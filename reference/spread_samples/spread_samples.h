// Contract of spread_samples: copies values of rays and marched samples to the samples that count.
//
//   sample begin[r] + i of ray r is marched sample ray_begin[r] + i:
//   its direction is the ray's, its distance and the length of its step are the marched sample's
//
// Samples beyond a ray's marched ones, and samples of no ray, are padding: direction (0,0,1), t = delta = 0,
// so that their weight is 0.
#pragma once

#include "reference/contract.h"

namespace klab {

struct SpreadSamples {
  static constexpr std::string_view name = "spread_samples";
  static constexpr std::array dims = {"rays", "samples", "marched"};

  struct Shape {
    int64_t rays;
    int64_t samples;
    int64_t marched;
  };

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* begin;      // [rays+1] i32
    const int32_t* ray_begin;  // [rays+1] i32 of the marched samples
    const T* t;                // [marched] f32
    const T* delta;            // [marched] f32
    const T* directions;       // [3,rays] f32
    T* sample_directions;      // [3,samples] f32, written (=)
    T* sample_t;               // [samples] f32, written (=)
    T* sample_delta;           // [samples] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("begin", args.begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("t", args.t, Role::input, Draw::unit, {s.marched});
    visit("delta", args.delta, Role::input, Draw::unit, {s.marched});
    visit("directions", args.directions, Role::input, Draw::unit, {3, s.rays});
    visit("sample_directions", args.sample_directions, Role::output, Draw::real, {3, s.samples});
    visit("sample_t", args.sample_t, Role::output, Draw::real, {s.samples});
    visit("sample_delta", args.sample_delta, Role::output, Draw::real, {s.samples});
  }

  static bool valid(const Shape& s) { return s.rays >= 0 && s.samples >= 0 && s.marched >= 0; }

  /// Two numbers in and five out a sample; a ray's direction and begins.
  static Cost cost(const Shape& s) { return {.bytes = 28 * double(s.samples) + 20 * double(s.rays)}; }

  /// Copies.
  static double terms(const Shape&) { return 0; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
