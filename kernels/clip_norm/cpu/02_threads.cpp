// clip_norm.cpu.02_threads: entries shared out among the cores, in vectors.
//
// CHANGE   both loops by threads and vectors; the order of the sum follows their number.
// EXPECT   the bandwidth of the memory.
// NUMERICS squares and their sum in double.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/clip_norm/clip_norm.h"

namespace klab {
namespace {

void run(const ClipNorm::Args<float>& x) {
  float* const g = x.gradient;
  double squares = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : squares) if (x.shape.n > (1 << 15))
  for (int64_t i = 0; i < x.shape.n; ++i) squares += double(g[i]) * double(g[i]);
  const double norm = std::sqrt(squares);
  *x.norm = float(norm);
  if (!(norm > double(*x.limit))) return;
  const auto scale = float(double(*x.limit) / norm);
#pragma omp parallel for simd schedule(static) if (x.shape.n > (1 << 15))
  for (int64_t i = 0; i < x.shape.n; ++i) g[i] *= scale;
}

KLAB_VARIANT(ClipNorm, {.run = run, .parent = "01_naive", .tiles = {1 << 15}});

}  // namespace
}  // namespace klab
