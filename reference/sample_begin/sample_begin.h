// Contract of sample_begin: the begin of each ray's samples in a pass over some of the marched ones.
//
//   n_r = clamp(min(limit_r, marched_r) - first, 0, most),   marched_r = ray_begin[r+1] - ray_begin[r]
//   begin[r+1] = begin[r] + n_r,   begin[0] = 0
//
// A ray that would reach beyond capacity, and all after it, get none. With padded = 1 the rays from count on,
// which have no marched samples, share the rest of the capacity evenly: begin[rays] = capacity. Samples
// beyond a ray's marched ones are padding: they are never used, but ops that are called with the capacity
// process all of it.
#pragma once

#include "reference/contract.h"

namespace klab {

struct SampleBegin {
  static constexpr std::string_view name = "sample_begin";
  static constexpr std::array dims = {"rays", "first", "most", "capacity", "padded"};

  struct Shape {
    int64_t rays;
    int64_t first;
    int64_t most;
    int64_t capacity;
    int64_t padded;  // 0 or 1
  };

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* ray_begin;  // [rays+1] i32 of the marched samples
    const int32_t* limit;      // [rays] i32, at least 0: samples of the ray that count
    const int32_t* count;      // [1] i32: rays from here on are dummies
    int32_t* begin;            // [rays+1] i32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("ray_begin", args.ray_begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("limit", args.limit, Role::input, Draw::arranged, {s.rays});
    visit("count", args.count, Role::input, Draw::arranged, {1});
    visit("begin", args.begin, Role::output, Draw::arranged, {s.rays + 1});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.first >= 0 && s.most >= 0 && s.capacity >= 0 && s.capacity < (int64_t{1} << 31) &&
           (s.padded == 0 || s.padded == 1);
  }

  /// Begins and limits in, begins out.
  static Cost cost(const Shape& s) { return {.bytes = 12 * double(s.rays) + 8}; }

  /// Whole numbers.
  static double terms(const Shape&) { return 0; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
