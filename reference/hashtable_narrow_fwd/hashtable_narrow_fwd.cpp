// The double reference of hashtable_narrow_fwd: that of hashtable_fwd, on the table's exact values.
//
// Its bound has (8 + 3)·u for the roundings of a term of the sum. A product with a factor is one more, for each value or for the
// sum; reading 16 bits rounds nothing.
#include "reference/hashtable_narrow_fwd/hashtable_narrow_fwd.h"

#include <vector>

namespace klab {

Cost HashtableNarrowFwd::cost(const Shape& s) {
  Cost cost = hashtable_cost(s.table(), 1);
  const bool nearest = s.blend == table_blend::nearest;
  const double entry = double(narrow_bytes(s.format) * s.features), share = entry / (4 * double(s.features));
  cost.bytes += (share - 1) * cost.table_bytes + 4 * double(s.factors());
  cost.table_bytes *= share;
  for (TableShare& table : cost.tables) table.bytes *= share;
  cost.gathers = double(s.n) * double(s.levels) * (nearest ? 1 : 4 * (1 + entry / 64));
  cost.entry_bytes = entry < 8 ? 4 : 8;
  if (s.format == narrow_format::int8) cost.flops += double(s.n) * double(s.levels * s.features);
  return cost;
}

void HashtableNarrowFwd::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  hashtable_arrange(s.table(), const_cast<float*>(x.positions), const_cast<float*>(x.scales),
                    const_cast<int64_t*>(x.sizes), random);
  draw_narrow(s.format, s.numbers(), const_cast<uint16_t*>(x.halves), const_cast<int8_t*>(x.bytes),
              s.factors(), const_cast<float*>(x.factors), 1, random);
}

void HashtableNarrowFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  std::vector<double> table(size_t(s.numbers()));
  int64_t i = 0;
  for (int64_t l = 0; l < s.levels; ++l)
    for (const int64_t end = i + x.sizes[l] * s.features; i < end; ++i) {
      const auto number = double(narrow_number(s.format, x.halves, x.bytes, i));
      table[size_t(i)] =
          s.format == narrow_format::int8 ? number * x.factors[l * s.features + i % s.features] : number;
    }
  HashtableFwd::reference({.shape = s.table(),
                           .positions = x.positions,
                           .scales = x.scales,
                           .sizes = x.sizes,
                           .table = table.data(),
                           .features = x.features},
                          {.shape = s.table(),
                           .positions = nullptr,
                           .scales = nullptr,
                           .sizes = nullptr,
                           .table = nullptr,
                           .features = magnitude.features});
  for (int64_t k = 0; k < s.levels * s.features * s.n; ++k) magnitude.features[k] *= 12.0 / 11;
}

}  // namespace klab
