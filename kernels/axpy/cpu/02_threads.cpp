// axpy.cpu.02_threads: entries shared out among the cores.
//
// CHANGE   threads take runs of entries where there are enough for it.
// EXPECT   the bandwidth of the memory; a matrix's few thousand stay on one core.
#include "harness/core/registrar.h"
#include "reference/axpy/axpy.h"

namespace klab {
namespace {

void run(const Axpy::Args<float>& x) {
  const float a = *x.a;
  float* const y = x.y;
  const float* const p = x.x;
#pragma omp parallel for simd schedule(static) if (x.shape.n > (1 << 15))
  for (int64_t i = 0; i < x.shape.n; ++i) y[i] += a * p[i];
}

KLAB_VARIANT(Axpy, {.run = run, .parent = "01_naive", .tiles = {1 << 15}});

}  // namespace
}  // namespace klab
