// visible_compact.cpu.82_even_looks: a look of an odd number of samples is one short.
// Class: sizes. Must be caught as Fault::wrong_value.
#include <algorithm>

#include "reference/visible_compact/visible_compact.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const VisibleCompact::Args<float>& x) {
  const VisibleCompact::Shape& s = x.shape;
  for (int64_t row = 0; row < s.rows; ++row)
    for (int64_t r = 0; r < s.rays; ++r) {
      const int64_t to = x.visible_begin[r],
                    n = std::min<int64_t>(x.visible_begin[r + 1] - to, s.first + s.most / 2 * 2);
      const int64_t from = x.begin[r], had = x.begin[r + 1] - from;
      for (int64_t i = s.first; i < n; ++i)
        x.target[row * s.samples + to + i] =
            i - s.first < had ? x.source[row * s.looked + from + i - s.first] : 0.0F;
    }
}

KLAB_MUTANT(VisibleCompact, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
