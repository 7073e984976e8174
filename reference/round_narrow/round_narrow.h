// Contract of round_narrow: floats as a format of fewer bits would hold them, and how many of them that has
// cost everything.
//
//   y = decode(encode(factor·x))       the product a float, rounded to nearest; then once to the format, to nearest, ties to even
//
// Formats: those of cast that are floats, with their rules for values that are too large, for denormals and
// for NaN (reference/formats.h). Numbers that a program stores in 16 or 8 bits and computes with as floats. y
// may be x.
#pragma once

#include "reference/cast/cast.h"
#include "reference/contract.h"
#include "reference/formats.h"

namespace klab {

struct RoundNarrow {
  static constexpr std::string_view name = "round_narrow";
  static constexpr std::array dims = {"n", "format"};

  struct Shape {
    int64_t n;
    int64_t format;  // Cast::f16, bf16, e4m3 or e5m2
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;       // [n] f32
    const T* factor;  // [1] f32, finite, above 0
    T* y;             // [n] f32, written (=)
    int32_t*
        // [3] i32, accumulated (+=): products that are not 0; those among them whose y is 0; those that were
        // finite and whose y is infinite
        lost;
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("x", args.x, Role::input, Draw::real, {s.n});
    visit("factor", args.factor, Role::input, Draw::arranged, {1});
    visit("y", args.y, Role::output, Draw::real, {s.n});
    visit("lost", args.lost, Role::accumulate, Draw::arranged, {3});
  }

  /// Below 2^30 numbers, so that counts of two calls fit 32 bits.
  static bool valid(const Shape& s) {
    return s.n >= 0 && s.n < (int64_t{1} << 30) && s.format >= 0 && s.format < Cast::int8;
  }

  /// Every float in and out. A product, and a rounding that counts as an addition.
  static Cost cost(const Shape& s) { return {.bytes = 8 * double(s.n) + 28, .flops = 2 * double(s.n)}; }

  /// The same bits, and counts.
  static double terms(const Shape&) { return 0; }

  /// As cast's, without NaN; counts from 0 to 1000 before.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);

  /// The format of that number. It must be valid.
  static const NarrowFormat& format_of(int64_t format) {
    static constexpr std::array<const NarrowFormat*, 4> formats = {&kF16, &kBf16, &kE4m3, &kE5m2};
    return *formats[size_t(format)];
  }
  /// The number of a format; -1 for one that has none here.
  static constexpr int64_t number_of(const NarrowFormat& f) {
    constexpr std::array<std::string_view, 4> names = {kF16.name, kBf16.name, kE4m3.name, kE5m2.name};
    for (size_t k = 0; k < names.size(); ++k)
      if (f.name == names[k]) return int64_t(k);
    return -1;
  }
};

}  // namespace klab
