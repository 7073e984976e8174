// Contract of visible_limit: the number of samples that count along each ray: up to the one that makes it
// opaque.
//
//   for the samples of ray r in this pass, first + 0, first + 1, ...:   while optical_depth <= stop
//     optical_depth += exp(raw)·delta          and when the last one brought it above stop:
//     limit_r = first + number of samples added
//
// A ray that has not become opaque keeps its limit. A pass continues where the last one ended:
// `optical_depth` is the sum over the samples before first.
#pragma once

#include "reference/contract.h"

namespace klab {

struct VisibleLimit {
  static constexpr std::string_view name = "visible_limit";
  static constexpr std::array dims = {"rays", "samples", "marched", "first"};

  struct Shape {
    int64_t rays;
    int64_t samples;  // in this pass
    int64_t marched;
    int64_t first;
  };

  /// Samples of a ray in the inputs drawn for tests.
  static constexpr int64_t most = 200;

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* begin;      // [rays+1] i32 of the samples in this pass
    const int32_t* ray_begin;  // [rays+1] i32 of the marched samples
    const T* raw;              // [samples] f32, logarithm of the density
    const T* delta;            // [marched] f32
    const T* stop;             // [1] f32: optical depth at which a ray is opaque
    T* optical_depth;          // [rays] f32, >= 0, read and written
    int32_t* limit;            // [rays] i32, read and written
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("begin", args.begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("raw", args.raw, Role::input, Draw::arranged, {s.samples});
    visit("delta", args.delta, Role::input, Draw::arranged, {s.marched});
    visit("stop", args.stop, Role::input, Draw::arranged, {1});
    visit("optical_depth", args.optical_depth, Role::accumulate, Draw::arranged, {s.rays});
    visit("limit", args.limit, Role::accumulate, Draw::arranged, {s.rays});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.samples >= 0 && s.marched >= 0 && s.first >= 0;
  }

  /// An exponential and a step in a sample; begins, depth and limit of a ray. Usually some nine in ten of the
  /// drawn samples come before the end of their ray; three quarters are counted as compulsory.
  static Cost cost(const Shape& s) {
    const double looked_at = 0.75 * double(s.samples);
    return {
        .bytes = 8 * looked_at + 24 * double(s.rays), .flops = 18 * looked_at, .transcendentals = looked_at};
  }

  /// Two roundings a sample, and those of the exponential, of a sum of positive terms.
  static double terms(const Shape&) { return 4 + double(most); }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
