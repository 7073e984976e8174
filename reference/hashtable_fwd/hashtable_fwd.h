// Contract of hashtable_fwd: positions to features, through a hash table whose layout is data
// (table_layout.h).
//
// Generalizes hashgrid_fwd to four hash functions, three interpolations, and levels of any size and
// resolution. It serves studies of hash tables and the training of a table that grows. For every level l and
// point i, with p = x·scale_l + 0.5 and entry(c) = table_index of corner c:
//
//   features[l*F + f, i] = sum over corners c of  prod_d w(p_d, c_d) * table[offset_l + entry(c), f]
//   linear:      w(p, c) = max(0, 1 - |p - c|)
//   smoothstep:  w(p, c) = s(max(0, 1 - |p - c|)),  s(t) = t²·(3 - 2t)
//   nearest:     w(p, c) = 1 where c = floor(p), else 0
#pragma once

#include <vector>

#include "reference/contract.h"
#include "reference/hashtable_fwd/table_layout.h"

namespace klab {

/// Sizes that hashtable_fwd and hashtable_bwd share. Points have three axes.
struct HashtableShape {
  int64_t n;         // points
  int64_t levels;    // 1..32
  int64_t features;  // of a level: 1, 2, 4 or 8
  int64_t entries;   // room for entries in all levels together, a multiple of 8
  int64_t hash;      // table_hash
  int64_t blend;     // table_blend
  /// Positions drawn by tests and benchmarks; it has no other effect. 0: random in the cube; 1: samples along
  /// rays.
  int64_t coherent = 0;
};

bool hashtable_valid(const HashtableShape& shape);

/// Compulsory traffic, arithmetic and random reads of one direction, like hashgrid_cost(); levels are assumed
/// to have equal sizes.
Cost hashtable_cost(const HashtableShape& shape, double table_passes);

/// Rearranges drawn inputs for both directions: levels whose sizes add up to `entries` or, drawn widely, to
/// less; positions by `coherent` or, drawn widely, anything in [0, 1].
void hashtable_arrange(const HashtableShape& shape, float* positions, float* scales, int64_t* sizes,
                       Generator& random);

struct HashtableFwd {
  static constexpr std::string_view name = "hashtable_fwd";
  static constexpr std::array dims = {"n", "levels", "features", "entries", "hash", "blend", "coherent"};
  using Shape = HashtableShape;

  template <class T>
  struct Args {
    Shape shape;
    const T* positions;  // [3, n] f32, input, in [0, 1]
    const T* scales;     // [levels] f32, input, in [0, 2^20]
    const int64_t*
        sizes;  // [levels] i64, input: entries of a level, a multiple of 8 from 8 on; at most `entries` in all
    const T* table;  // [entries, features] f32, input, entries of all levels one after the other
    T* features;     // [levels*features, n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("positions", args.positions, Role::input, Draw::unit, {3, s.n});
    visit("scales", args.scales, Role::input, Draw::arranged, {s.levels});
    visit("sizes", args.sizes, Role::input, Draw::arranged, {s.levels});
    visit("table", args.table, Role::input, Draw::real, {s.entries, s.features});
    visit("features", args.features, Role::output, Draw::real, {s.levels * s.features, s.n});
  }

  static bool valid(const Shape& s) { return hashtable_valid(s); }
  static Cost cost(const Shape& s) { return hashtable_cost(s, 1); }

  /// 1: the magnitude holds the whole bound, in units of u, because it depends on the position.
  static double terms(const Shape&) { return 1; }

  static void arrange(const Args<float>& x, Generator& random);

  /// magnitude.features = the bound on the error, in units of u; derived in table_axis.h.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
