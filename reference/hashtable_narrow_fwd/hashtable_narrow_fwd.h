// Contract of hashtable_narrow_fwd: positions to features, through a hash table of few bits.
//
// As hashtable_fwd, whose layout it has, but the table's numbers stay in 16 or 8 bits in memory and become floats only as they
// are read (narrow_numbers.h):
//
//   features[l*F + f, i] = sum over corners c of  prod_d w(p_d, c_d) * t[offset_l + entry(c), f]
//   t[e, f] = halves[e, f]                          formats f16 and bf16
//   t[e, f] = bytes[e, f] * factors[l, f]           format int8, e an entry of level l
#pragma once

#include "reference/contract.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"
#include "reference/narrow_numbers.h"

namespace klab {

struct HashtableNarrowFwd {
  static constexpr std::string_view name = "hashtable_narrow_fwd";
  static constexpr std::array dims = {"n",    "levels", "features", "entries",
                                      "hash", "blend",  "coherent", "format"};

  struct Shape {
    int64_t n;         // points
    int64_t levels;    // 1..32
    int64_t features;  // of a level: 1, 2, 4 or 8
    int64_t entries;   // room for entries in all levels together, a multiple of 8
    int64_t hash;      // table_hash
    int64_t blend;     // table_blend
    int64_t coherent;  // as in HashtableShape
    int64_t format;    // narrow_format
    HashtableShape table() const { return {n, levels, features, entries, hash, blend, coherent}; }
    int64_t numbers() const { return entries * features; }
    int64_t factors() const { return in_bytes(format, levels * features); }
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* positions;      // [3, n] f32, input, in [0, 1]
    const T* scales;         // [levels] f32, input, in [0, 2^20]
    const int64_t* sizes;    // [levels] i64, input, as in hashtable_fwd
    const uint16_t* halves;  // [entries, features] bits, input; empty in format int8
    const int8_t* bytes;     // [entries, features], input; empty in the others
    const T* factors;        // [levels, features] f32, input, above 0; empty like `bytes`
    T* features;             // [levels*features, n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("positions", args.positions, Role::input, Draw::unit, {3, s.n});
    visit("scales", args.scales, Role::input, Draw::arranged, {s.levels});
    visit("sizes", args.sizes, Role::input, Draw::arranged, {s.levels});
    visit("halves", args.halves, Role::input, Draw::arranged, {in_halves(s.format, s.numbers())});
    visit("bytes", args.bytes, Role::input, Draw::arranged, {in_bytes(s.format, s.numbers())});
    visit("factors", args.factors, Role::input, Draw::arranged, {s.factors()});
    visit("features", args.features, Role::output, Draw::real, {s.levels * s.features, s.n});
  }

  static bool valid(const Shape& s) { return hashtable_valid(s.table()) && is_narrow_format(s.format); }

  /// As of hashtable_fwd, with entries of fewer bytes. A product with a factor is one for each feature.
  static Cost cost(const Shape& s);

  /// 1: the magnitude holds the whole bound, in units of u, because it depends on the position.
  static double terms(const Shape&) { return 1; }

  static void arrange(const Args<float>& x, Generator& random);

  /// magnitude.features = the bound on the error, in units of u.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
