// Contract of place_samples: positions of a pass's samples in the encoding's [0,1].
//
//   sample begin[r] + i of ray r is marched sample ray_begin[r] + first + i:
//   position = clamp(0.5 + (origin + t·direction - 0.5)/side, 0, 1)
//   or, if cells grow with their distance from the middle, the place of origin + t·direction - 0.5 in that grid
//   (graded_grid.h)
//
// Samples beyond a ray's marched ones, and samples of no ray, are padding at 0.5.
#pragma once

#include "reference/contract.h"
#include "reference/graded_grid.h"

namespace klab {

struct PlaceSamples {
  static constexpr std::string_view name = "place_samples";
  static constexpr std::array dims = {"rays", "samples", "marched", "first"};

  struct Shape {
    int64_t rays;
    int64_t samples;
    int64_t marched;
    int64_t first;
  };

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* begin;      // [rays+1] i32
    const int32_t* ray_begin;  // [rays+1] i32 of the marched samples
    const T* t;                // [marched] f32
    const T* origins;          // [3,rays] f32
    const T* directions;       // [3,rays] f32
    const T* volume;           // [2] f32: its side, a power of two; 1: cells grow, or 0
    T* positions;              // [3,samples] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("begin", args.begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("t", args.t, Role::input, Draw::unit, {s.marched});
    visit("origins", args.origins, Role::input, Draw::unit, {3, s.rays});
    visit("directions", args.directions, Role::input, Draw::unit, {3, s.rays});
    visit("volume", args.volume, Role::input, Draw::arranged, {2});
    visit("positions", args.positions, Role::output, Draw::real, {3, s.samples});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.samples >= 0 && s.marched >= 0 && s.first >= 0;
  }

  /// A distance in and three coordinates out a sample, a ray's origin and direction and begins.
  static Cost cost(const Shape& s) {
    return {.bytes = 16 * double(s.samples) + 32 * double(s.rays), .flops = 18 * double(s.samples)};
  }

  /// A product, three sums, a quotient by a power of two.
  static double terms(const Shape&) { return 5; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
