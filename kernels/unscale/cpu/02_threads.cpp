// unscale.cpu.02_threads: entries shared out among the cores.
//
// CHANGE   threads take runs of entries where there are enough for it.
// EXPECT   the bandwidth of the memory; a matrix's few thousand stay on one core.
#include "harness/core/registrar.h"
#include "reference/unscale/unscale.h"

namespace klab {
namespace {

void run(const Unscale::Args<float>& x) {
  const float factor = *x.first == 0x7FFFFFFF ? 1 / *x.scale : 0.0F;
  float* const gradient = x.gradient;
#pragma omp parallel for simd schedule(static) if (x.shape.n > (1 << 15))
  for (int64_t i = 0; i < x.shape.n; ++i) gradient[i] = factor != 0 ? gradient[i] * factor : 0.0F;
}

KLAB_VARIANT(Unscale, {.run = run, .parent = "01_naive", .tiles = {1 << 15}});

}  // namespace
}  // namespace klab
