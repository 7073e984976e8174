// Contract of visible_compact: compacts rows of the samples that count from one pass over some of them.
//
//   sample visible_begin[r] + i of ray r, first <= i < first + most, is sample begin[r] + i - first of this pass:
//   target[row, visible_begin[r] + i] = source[row, begin[r] + i - first]        0 where the pass has no such sample
//
// Elements of no ray or of another pass keep their value.
#pragma once

#include "reference/contract.h"

namespace klab {

struct VisibleCompact {
  static constexpr std::string_view name = "visible_compact";
  static constexpr std::array dims = {"rays", "rows", "looked", "samples", "first", "most"};

  struct Shape {
    int64_t rays;
    int64_t rows;
    int64_t looked;
    int64_t samples;
    int64_t first;
    int64_t most;
  };

  template <class T>
  struct Args {
    Shape shape;
    const int32_t* begin;          // [rays+1] i32 of the pass
    const int32_t* visible_begin;  // [rays+1] i32 of the samples that count
    const T* source;               // [rows,looked] f32
    T* target;                     // [rows,samples] f32, written where it belongs to the look
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("begin", args.begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("visible_begin", args.visible_begin, Role::input, Draw::arranged, {s.rays + 1});
    visit("source", args.source, Role::input, Draw::real, {s.rows, s.looked});
    visit("target", args.target, Role::accumulate, Draw::real, {s.rows, s.samples});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.rows >= 0 && s.looked >= 0 && s.samples >= 0 && s.first >= 0 && s.most >= 0 &&
           s.most < (int64_t{1} << 31);
  }

  /// Every value that counts in and out; two begins of a ray.
  static Cost cost(const Shape& s) {
    return {.bytes = 8 * double(s.rows) * double(s.samples) + 8 * double(s.rays)};
  }

  /// Copies.
  static double terms(const Shape&) { return 0; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
