// sample_begin.cpu.01_naive: one running sum.
//
// CHANGE   the naive loop.
// EXPECT   a chain of additions, one a ray; 12 bytes each.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/sample_begin/sample_begin.h"

namespace klab {
namespace {

int32_t wanted(const SampleBegin::Args<float>& x, int64_t r) {
  const int64_t all = std::min<int64_t>(x.limit[r], x.ray_begin[r + 1] - x.ray_begin[r]);
  return int32_t(std::clamp<int64_t>(all - x.shape.first, 0, x.shape.most));
}

void run(const SampleBegin::Args<float>& x) {
  const SampleBegin::Shape& s = x.shape;
  int64_t at = 0;
  bool full = false;
  x.begin[0] = 0;
  for (int64_t r = 0; r < s.rays; ++r) {
    const int64_t n = wanted(x, r);
    full = full || at + n > s.capacity;
    if (!full) at += n;
    x.begin[r + 1] = int32_t(at);
  }
  const int64_t from = *x.count, left = s.capacity - at, none = s.rays - from;
  if (!s.padded) return;
  for (int64_t j = 1; j <= none; ++j) x.begin[from + j] = int32_t(at + left * j / none);
}

KLAB_VARIANT(SampleBegin, {.run = run});

}  // namespace
}  // namespace klab
