// Contract of all_finite: where the first entry stands that is neither a number nor finite: first =
// min(first, its index).
//
// Several arrays may be tested one after the other; if none of them changes `first`, all are finite.
#pragma once

#include "reference/contract.h"

namespace klab {

struct AllFinite {
  static constexpr std::string_view name = "all_finite";
  static constexpr std::array dims = {"n"};

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* p;      // [n] f32
    int32_t* first;  // [1] i32, read and written
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("p", args.p, Role::input, Draw::arranged, {s.n});
    visit("first", args.first, Role::accumulate, Draw::arranged, {1});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.n < (int64_t{1} << 31); }

  /// Every entry in.
  static Cost cost(const Shape& s) { return {.bytes = 4 * double(s.n), .flops = 2 * double(s.n)}; }

  /// A place.
  static double terms(const Shape&) { return 0; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
