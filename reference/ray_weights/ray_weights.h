// Contract of ray_weights: the weight of each ray's loss: one over the number of whole rays, and 0 for the
// others.
//
// Rays that did not fit into the marched batch have no samples, exactly like rays through empty space;
// training on them would teach that they hit background. The rays before the first one that may have been cut
// are whole:
//
//   r < count
//   marched:  all, where a ray of max_samples would have fit behind the last one; else those up to the last with samples
//   kept:     begin[r+1] - begin[r] = min(limit_r, ray_begin[r+1] - ray_begin[r])
//
// weight_r = 1/whole for r < whole, else 0.
#pragma once

#include "reference/contract.h"

namespace klab {

struct RayWeights {
  static constexpr std::string_view name = "ray_weights";
  static constexpr std::array dims = {"rays", "max_samples", "capacity"};

  struct Shape {
    int64_t rays;
    int64_t max_samples;
    int64_t capacity;  // of the marched batch
  };

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* ray_begin;  // [rays+1] i32 of the marched samples
    const int32_t* limit;      // [rays] i32
    const int32_t* begin;      // [rays+1] i32 of the samples that count
    const int32_t* count;      // [1] i32
    T* weight;                 // [rays] f32, written (=)
    int32_t* whole;            // [1] i32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("limit", args.limit, Role::input, Draw::arranged, {s.rays});
    visit("begin", args.begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("count", args.count, Role::input, Draw::arranged, {1});
    visit("weight", args.weight, Role::output, Draw::real, {s.rays});
    visit("whole", args.whole, Role::output, Draw::arranged, {1});
  }

  static bool valid(const Shape& s) { return s.rays >= 0 && s.max_samples >= 0 && s.capacity >= 0; }

  /// Begins and limits in, weights out.
  static Cost cost(const Shape& s) { return {.bytes = 16 * double(s.rays)}; }

  /// One quotient.
  static double terms(const Shape&) { return 1; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
