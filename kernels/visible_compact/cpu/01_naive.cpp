// visible_compact.cpu.01_naive: row after row, ray after ray.
//
// CHANGE   the naive loop.
// EXPECT   rays of a few samples: a loop for each, whose end cannot be predicted, for each row.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/visible_compact/visible_compact.h"

namespace klab {
namespace {

void run(const VisibleCompact::Args<float>& x) {
  const VisibleCompact::Shape& s = x.shape;
  for (int64_t row = 0; row < s.rows; ++row)
    for (int64_t r = 0; r < s.rays; ++r) {
      const int64_t to = x.visible_begin[r],
                    n = std::min<int64_t>(x.visible_begin[r + 1] - to, s.first + s.most);
      const int64_t from = x.begin[r], had = x.begin[r + 1] - from;
      for (int64_t i = s.first; i < n; ++i)
        x.target[row * s.samples + to + i] =
            i - s.first < had ? x.source[row * s.looked + from + i - s.first] : 0.0F;
    }
}

KLAB_VARIANT(VisibleCompact, {.run = run});

}  // namespace
}  // namespace klab
