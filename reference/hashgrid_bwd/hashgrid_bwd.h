// Contract of hashgrid_bwd: the gradient of the features scattered back into the table.
//
//   d_table[offset_l + index(c), f] += sum over points i, corners c of i's cell of
//                                      prod_d hat(p_d - c_d) * d_features[l*F + f, i]
//
// The encoding is linear in the table, so neither the table nor the features are needed. Positions get no
// gradient: nothing in front of the encoding is trained.
#pragma once

#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {

struct HashgridBwd {
  static constexpr std::string_view name = "hashgrid_bwd";
  static constexpr std::array dims = HashgridFwd::dims;
  using Shape = HashgridShape;
  using Forward = HashgridFwd;

  template <class T>
  struct Args {
    Shape shape;
    const T* positions;   // [dim, n] f32, input, in [0, 1]
    const T* d_features;  // [levels*features, n] f32, input
    T* d_table;           // [entries, features] f32, accumulated (+=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    const int64_t entries = hashgrid_entries(hashgrid_levels(s));
    visit("positions", args.positions, Role::input, Draw::unit, {s.dim, s.n});
    visit("d_features", args.d_features, Role::input, Draw::real, {s.levels * s.features, s.n});
    visit("d_table", args.d_table, Role::accumulate, Draw::real, {entries, s.features});
  }

  static bool valid(const Shape& s) { return hashgrid_valid(s); }

  /// Like the forward, with every touched entry read and written.
  static Cost cost(const Shape& s) { return hashgrid_cost(s, 2); }

  /// 1: the magnitude holds the whole bound, in units of u: it depends on how many points share an entry.
  static double terms(const Shape&) { return 1; }

  static void arrange(const Args<float>& x, Generator& random);

  /// magnitude.d_table = the bound on the error, in units of u; derived in hashgrid_bwd.cpp.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
