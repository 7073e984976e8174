// histogram.cpu.03_threads: tables of its own for each thread.
//
// CHANGE    each thread counts a run of keys in four tables on its stack and adds them to the result in turn.
// EXPECT    up to the number of cores, until memory binds. Counts that threads share would have to be atomic, twenty cycles a key.
// NEEDS     nothing. Few keys stay on one thread.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/threads.h"
#include "reference/histogram/histogram.h"

namespace klab {
namespace {

constexpr int64_t kTables = 4, kEnough = 1 << 15;  // keys worth waking a team for
constexpr uint32_t kNowhere = Histogram::bins;     // the bin of keys that have none

/// Adds the counts of keys [i, end).
void count(const Histogram::Args<float>& x, int64_t i, int64_t end) {
  uint32_t tables[kTables][Histogram::bins + 1] = {};
  for (; i + kTables <= end; i += kTables)
    for (int64_t k = 0; k < kTables; ++k) ++tables[k][std::min(x.keys[i + k], kNowhere)];
  for (; i < end; ++i) ++tables[0][std::min(x.keys[i], kNowhere)];
#pragma omp critical
  for (int64_t b = 0; b < Histogram::bins; ++b)
    x.counts[b] += tables[0][b] + tables[1][b] + tables[2][b] + tables[3][b];
}

void run(const Histogram::Args<float>& x) {
  std::fill_n(x.counts, Histogram::bins, 0U);
  parallel_ranges(x.shape.n, x.shape.n >= kEnough, kTables,
                  [&](int64_t i, int64_t end) { count(x, i, end); });
}

KLAB_VARIANT(Histogram, {.run = run,
                         .parent = "02_four_tables",
                         .tiles = {kTables, kEnough},
                         .expect = {.shape = {1 << 24}, .over_parent = 1.4}});

}  // namespace
}  // namespace klab
