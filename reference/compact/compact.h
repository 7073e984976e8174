// Contract of compact: a strided view made contiguous.
//
// A view of a buffer has, for each dimension, a length and a stride in elements: a slice has a larger stride
// and an offset, a transposed matrix has its strides exchanged, a broadcast dimension has stride 0. `compact`
// reads the elements in the order of the view and writes them one after the other.
#pragma once

#include "reference/contract.h"

namespace klab {

struct Compact {
  static constexpr std::string_view name = "compact";
  static constexpr std::array dims = {"d0", "d1", "d2", "s0", "s1", "s2", "offset"};

  /// Lengths d, strides s and the offset of the first element, all in elements.
  struct Shape {
    int64_t d0, d1, d2, s0, s1, s2, offset;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* base;  // [extent(shape)] f32, input: the buffer that the view looks into
    T* out;  // [d0,d1,d2] f32 row-major, written (=): out[i,j,k] = base[offset + i·s0 + j·s1 + k·s2]
  };

  /// Elements the buffer must have: one past the last one that the view reaches; 0 for an empty view.
  static int64_t extent(const Shape& s) {
    if (s.d0 == 0 || s.d1 == 0 || s.d2 == 0) return 0;
    return s.offset + (s.d0 - 1) * s.s0 + (s.d1 - 1) * s.s1 + (s.d2 - 1) * s.s2 + 1;
  }

  /// Lengths, strides and offset from 0 on, and no buffer or result above 2^31 elements.
  static bool valid(const Shape& s) {
    constexpr double limit = 0x1p31;
    for (const int64_t v : {s.d0, s.d1, s.d2, s.s0, s.s1, s.s2, s.offset})
      if (v < 0 || double(v) > limit) return false;
    const double reach = double(s.offset) + double(s.d0) * double(s.s0) + double(s.d1) * double(s.s1) +
                         double(s.d2) * double(s.s2);
    return double(s.d0) * double(s.d1) * double(s.d2) <= limit && reach <= limit;
  }

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("base", args.base, Role::input, Draw::real, {extent(s)});
    visit("out", args.out, Role::output, Draw::real, {s.d0, s.d1, s.d2});
  }

  /// Every element written once; every element of the buffer that the view touches read once. A dimension of
  /// stride 0 touches nothing new. (Views whose other dimensions overlap are counted as if they did not, up
  /// to the extent.)
  static Cost cost(const Shape& s) {
    const double written = double(s.d0) * double(s.d1) * double(s.d2);
    if (written == 0) return {0, 0};
    const double touched = double(s.s0 ? s.d0 : 1) * double(s.s1 ? s.d1 : 1) * double(s.s2 ? s.d2 : 1);
    const double there = double(extent(s));
    return {4.0 * written + 4.0 * (touched < there ? touched : there), 0.0};
  }

  /// Nothing is rounded: results are bit-exact.
  static double terms(const Shape&) { return 0; }

  /// magnitude.out = |out|.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
