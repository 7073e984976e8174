// histogram.cpu.02_four_tables: four keys in a row, four tables.
//
// CHANGE    key 4i + k counts in table k, and keys without a bin in a bin of their own, so that nothing branches. The tables are
//           added at the end.
// EXPECT    four neighbors never wait for each other's store: at equal keys three times at least, at random ones a little.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/histogram/histogram.h"

namespace klab {
namespace {

constexpr int64_t kTables = 4;
constexpr uint32_t kNowhere = Histogram::bins;  // the bin of keys that have none

void run(const Histogram::Args<float>& x) {
  uint32_t tables[kTables][Histogram::bins + 1] = {};
  int64_t i = 0;
  for (; i + kTables <= x.shape.n; i += kTables)
    for (int64_t k = 0; k < kTables; ++k) ++tables[k][std::min(x.keys[i + k], kNowhere)];
  for (; i < x.shape.n; ++i) ++tables[0][std::min(x.keys[i], kNowhere)];
  for (int64_t b = 0; b < Histogram::bins; ++b)
    x.counts[b] = tables[0][b] + tables[1][b] + tables[2][b] + tables[3][b];
}

KLAB_VARIANT(Histogram, {.run = run,
                         .parent = "01_naive",
                         .tiles = {kTables},
                         .expect = {.shape = {1 << 24}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
