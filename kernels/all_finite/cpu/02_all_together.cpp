// all_finite.cpu.02_all_together: one sum that shows whether any is not.
//
// CHANGE   nearly always all are finite: 0·p summed up is zero exactly then, without a branch. Who is not is
//          looked for when it matters.
// EXPECT   vectors: 4 bytes an entry at the speed of the memory.
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

void run(const AllFinite::Args<float>& x) {
  const int64_t at = find(x.p, 0, x.shape.n);
  if (at < x.shape.n) *x.first = std::min(*x.first, int32_t(at));
}

KLAB_VARIANT(AllFinite, {.run = run, .parent = "01_naive", .tiles = {16}});

}  // namespace
}  // namespace klab
