// Contract of hashtable_bwd: the gradient of the features scattered back into a table whose layout is data.
//
//   d_table[offset_l + entry(c), f] += sum over points i, corners c of i's cell of  prod_d w(p_d, c_d) * d_features[l*F + f, i]
//
// with the entries and weights of hashtable_fwd. The encoding is linear in the table; positions get no gradient.
#pragma once

#include "reference/hashtable_fwd/hashtable_fwd.h"

namespace klab {

struct HashtableBwd {
  static constexpr std::string_view name = "hashtable_bwd";
  static constexpr std::array dims = HashtableFwd::dims;
  using Shape = HashtableShape;
  using Forward = HashtableFwd;

  template <class T>
  struct Args {
    Shape shape;
    const T* positions;    // [3, n] f32, input, in [0, 1]
    const T* scales;       // [levels] f32, input
    const int64_t* sizes;  // [levels] i64, input: entries of a level
    const T* d_features;   // [levels*features, n] f32, input
    T* d_table;            // [entries, features] f32, accumulated (+=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("positions", args.positions, Role::input, Draw::unit, {3, s.n});
    visit("scales", args.scales, Role::input, Draw::arranged, {s.levels});
    visit("sizes", args.sizes, Role::input, Draw::arranged, {s.levels});
    visit("d_features", args.d_features, Role::input, Draw::real, {s.levels * s.features, s.n});
    visit("d_table", args.d_table, Role::accumulate, Draw::real, {s.entries, s.features});
  }

  static bool valid(const Shape& s) { return hashtable_valid(s); }

  /// Like the forward, with every touched entry read and written.
  static Cost cost(const Shape& s) { return hashtable_cost(s, 2); }

  /// 1: the magnitude holds the whole bound, in units of u: it depends on how many points share an entry.
  static double terms(const Shape&) { return 1; }

  static void arrange(const Args<float>& x, Generator& random);

  /// magnitude.d_table = the bound on the error, in units of u; derived in hashtable_bwd.cpp.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
