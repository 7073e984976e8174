// Contract of radix_sort: pairs of a 64-bit key and a 32-bit value in ascending order of their keys.
//
//   sorted_keys[0] <= sorted_keys[1] <= ...      pairs of equal keys keep their order (the sort is stable)
//
// Keys are unsigned words, although their type is signed; bits from `bits` on are zero in all of them. A
// splatting renderer sorts by the bits of a depth, a float that is not negative, whose bits as a whole number
// rise with it, or by a tile's number above these.
#pragma once

#include "reference/contract.h"

namespace klab {

struct RadixSort {
  static constexpr std::string_view name = "radix_sort";
  static constexpr std::array dims = {"n", "bits"};

  struct Shape {
    int64_t n;
    int64_t bits;  // of a key, from 1 to 64
  };

  template <class T>
  struct Args {
    Shape shape;
    const int64_t* keys;     // [n] i64, unsigned words
    const int32_t* values;   // [n] i32
    int64_t* sorted_keys;    // [n] i64, written (=)
    int32_t* sorted_values;  // [n] i32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("keys", args.keys, Role::input, Draw::arranged, {n});
    visit("values", args.values, Role::input, Draw::arranged, {n});
    visit("sorted_keys", args.sorted_keys, Role::output, Draw::real, {n});
    visit("sorted_values", args.sorted_values, Role::output, Draw::real, {n});
  }

  static bool valid(const Shape& s) {
    return s.n >= 0 && s.n < (int64_t(1) << 31) && s.bits >= 1 && s.bits <= 64;
  }

  /// A pair is read and written at least once: 24 bytes. Moving it once more for each further digit is the price of
  /// sorting by digits, not of sorting.
  static Cost cost(const Shape& s) { return {.bytes = 24.0 * double(s.n), .flops = 0}; }

  /// Copies.
  static double terms(const Shape&) { return 0; }

  /// Half of the time keys over all their bits, else few different ones. Widely: sorted, reversed, all alike, the largest.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
