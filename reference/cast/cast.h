// Contract of cast: floats, scaled, in a format of fewer bits.
//
//   out = round(x·scale)       the product a float, rounded to nearest; then once to the format, to nearest, ties to even
//
// Formats and their rules for values that are too large, for denormals and for NaN: reference/formats.h. f16
// and bf16 overflow to infinity; fp8 and int8 saturate. Denormals are kept. The result is the same bits in
// every variant.
#pragma once

#include "reference/contract.h"

namespace klab {

struct Cast {
  static constexpr std::string_view name = "cast";
  static constexpr std::array dims = {"n", "format"};

  enum Format : int64_t { f16, bf16, e4m3, e5m2, int8, kFormats };

  struct Shape {
    int64_t n;
    int64_t format;                                                            // a Format
    int64_t width() const { return format == f16 || format == bf16 ? 2 : 1; }  // bytes of a result
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;      // [n] f32
    const T* scale;  // [1] f32, finite, above 0
    uint8_t* out;    // [n, width] the formats' bits, the lower byte first; written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("x", args.x, Role::input, Draw::real, {s.n});
    visit("scale", args.scale, Role::input, Draw::arranged, {1});
    visit("out", args.out, Role::output, Draw::real, {s.n, s.width()});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.format >= 0 && s.format < kFormats; }

  /// Every float in, every result out: 6 or 5 bytes. A product, and a rounding that counts as an addition.
  static Cost cost(const Shape& s) {
    return {.bytes = double(4 + s.width()) * double(s.n) + 4, .flops = 2 * double(s.n)};
  }

  /// The same bits.
  static double terms(const Shape&) { return 0; }

  /// A power of two from 2^-16 to 2^16, one time in four any number near 1; ties, borders, denormals,
  /// infinities and NaN among the x.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
