// visible_compact.cpu.03_threads: rows shared out among the cores.
//
// CHANGE   each thread takes rows.
// EXPECT   near the number of cores: a row has its own cache lines.
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
#pragma omp parallel for schedule(static) if (x.shape.rows > 1 && runs.size() > 128)
  for (int64_t row = 0; row < x.shape.rows; ++row)
    copy_row(runs, x.source + row * x.shape.looked, x.shape.looked, x.target + row * x.shape.samples);
}

KLAB_VARIANT(VisibleCompact, {.run = run, .parent = "02_fixed_copies", .tiles = {8, 128}});

}  // namespace
}  // namespace klab
