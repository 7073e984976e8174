#include "reference/histogram/histogram.h"

#include <algorithm>

#include "reference/generator.h"

namespace klab {

void Histogram::arrange(const Args<float>& x, Generator& random) {
  auto* const keys = const_cast<uint32_t*>(x.keys);
  // More equal keys than a counter of 16 bits holds, where there are that many.
  const uint64_t kind = !random.widely ? 0 : x.shape.n > 1 << 17 ? 1 : random() % 5;
  const auto alike = uint32_t(random() % 256);
  for (int64_t i = 0; i < x.shape.n; ++i) {
    keys[i] = uint32_t(random() % 256);
    if (kind == 1) keys[i] = alike;
    if (kind == 2) keys[i] = (alike + keys[i] % 3) % 256;
    if (kind == 3) keys[i] = 254 + keys[i] % 4;
    if (kind == 4) keys[i] = uint32_t(random()) >> random() % 32;
  }
}

void Histogram::reference(const Args<double>& x, const Args<double>&) {
  std::fill_n(x.counts, bins, 0U);
  for (int64_t i = 0; i < x.shape.n; ++i)
    if (x.keys[i] < bins) ++x.counts[x.keys[i]];
}

}  // namespace klab
