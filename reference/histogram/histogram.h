// Contract of histogram: how often each key below 256 occurs.
//
//   counts_b = number of i with key_i = b, for b = 0 ... 255;  keys of 256 and more are counted nowhere
#pragma once

#include "reference/contract.h"

namespace klab {

struct Histogram {
  static constexpr std::string_view name = "histogram";
  static constexpr std::array dims = {"n"};
  static constexpr int64_t bins = 256;

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const uint32_t* keys;  // [n] u32, input
    uint32_t* counts;      // [256] u32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    visit("keys", args.keys, Role::input, Draw::arranged, {args.shape.n});
    visit("counts", args.counts, Role::output, Draw::real, {bins});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.n < int64_t{1} << 32; }

  /// A key is read once; 256 counts are written.
  static Cost cost(const Shape& s) { return {.bytes = 4.0 * double(s.n) + 4.0 * double(bins), .flops = 0}; }

  /// Whole numbers: exact.
  static double terms(const Shape&) { return 0; }

  /// Keys below 256. Widely: all alike, few different ones, around the last bin, over all bits.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
