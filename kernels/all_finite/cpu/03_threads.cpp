// all_finite.cpu.03_threads: runs shared out among the cores.
//
// CHANGE   each thread scans runs of 2^15 entries.
// EXPECT   near the number of cores, or the bandwidth of the memory.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/all_finite/all_finite.h"

namespace klab {
namespace {

/// Taken together first: 0·p is zero if p is finite and NaN otherwise.
int64_t find(const float* p, int64_t begin, int64_t end) {
  float zero = 0;
#pragma omp simd reduction(+ : zero)
  for (int64_t i = begin; i < end; ++i) zero += 0 * p[i];
  if (zero == 0) return end;
  return std::find_if(p + begin, p + end, [](float v) { return !std::isfinite(v); }) - p;
}

constexpr int64_t kRun = 1 << 15;

void run(const AllFinite::Args<float>& x) {
  const int64_t runs = (x.shape.n + kRun - 1) / kRun;
  int32_t first = *x.first;
#pragma omp parallel for schedule(static) reduction(min : first) if (runs > 1)
  for (int64_t k = 0; k < runs; ++k) {
    const int64_t end = std::min(x.shape.n, (k + 1) * kRun), at = find(x.p, k * kRun, end);
    if (at < end) first = std::min(first, int32_t(at));
  }
  *x.first = first;
}

KLAB_VARIANT(AllFinite, {.run = run, .parent = "02_all_together", .tiles = {kRun}});

}  // namespace
}  // namespace klab
