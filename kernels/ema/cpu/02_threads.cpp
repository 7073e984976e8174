// ema.cpu.02_threads: entries shared out among the cores.
//
// CHANGE   threads take runs of entries where there are enough for it.
// EXPECT   the bandwidth of the memory; a matrix's few thousand stay on one core.
#include "harness/core/registrar.h"
#include "reference/ema/ema.h"

namespace klab {
namespace {

void run(const Ema::Args<float>& x) {
  const float keep = *x.keep, take = 1 - keep;
  float* const average = x.average;
  const float* const now = x.now;
#pragma omp parallel for simd schedule(static) if (x.shape.n > (1 << 15))
  for (int64_t i = 0; i < x.shape.n; ++i) average[i] = keep * average[i] + take * now[i];
}

KLAB_VARIANT(Ema, {.run = run, .parent = "01_naive", .tiles = {1 << 15}});

}  // namespace
}  // namespace klab
