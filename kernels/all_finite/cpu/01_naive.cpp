// all_finite.cpu.01_naive: entry after entry.
//
// CHANGE   the naive loop: leaves at the first one.
// EXPECT   a comparison and a branch an entry; the branch is foreseen, and keeps the loop out of vectors.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/all_finite/all_finite.h"

namespace klab {
namespace {

void run(const AllFinite::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i)
    if (!std::isfinite(x.p[i])) {
      *x.first = std::min(*x.first, int32_t(i));
      return;
    }
}

KLAB_VARIANT(AllFinite, {.run = run});

}  // namespace
}  // namespace klab
