#include "tests/mutants/probe_count/probe_count.h"

#include <algorithm>

namespace klab {

void ProbeCount::reference(const Args<double>& x, const Args<double>&) {
  std::fill_n(x.count, 16, 0);
  for (int64_t i = 0; i < x.shape.n; ++i) ++x.count[int(x.x[i] * 16)];
}

}  // namespace klab
