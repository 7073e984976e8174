// visible_compact.cpu.02_fixed_copies: short runs by a copy of fixed length.
//
// CHANGE   rays that have samples here are listed once, with source and target; in each row runs of up to
//          eight are copied as eight, one or two instructions without a loop. The next run overwrites the
//          surplus, so runs of a row go in order, and the last ones are copied by their length.
// EXPECT   no unpredictable branch for most rays: several times faster.
#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/visible_compact/visible_compact.h"

namespace klab {
namespace {

#include "kernels/visible_compact/cpu/02_fixed_copies-inl.h"

void run(const VisibleCompact::Args<float>& x) {
  const std::vector<Run> runs = runs_of(x);
  for (int64_t row = 0; row < x.shape.rows; ++row)
    copy_row(runs, x.source + row * x.shape.looked, x.shape.looked, x.target + row * x.shape.samples);
}

KLAB_VARIANT(VisibleCompact, {.run = run, .parent = "01_naive", .tiles = {kShort}});

}  // namespace
}  // namespace klab
