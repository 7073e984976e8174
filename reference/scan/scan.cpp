#include "reference/scan/scan.h"

#include "reference/generator.h"

namespace klab {

void Scan::arrange(const Args<float>& x, Generator& random) {
  auto* const words = const_cast<uint32_t*>(x.x);
  const int64_t n = x.shape.n;
  const uint64_t kind = random.widely ? random() % 4 : 0;
  for (int64_t i = 0; i < n; ++i) {
    words[i] = uint32_t(random() % 100);
    if (kind == 1) words[i] = uint32_t(random());
    if (kind == 2) words[i] &= 1;
    if (kind == 3) words[i] = 0;
  }
  if (kind == 3 && n > 0) words[random() % uint64_t(n)] = 1;
}

void Scan::reference(const Args<double>& x, const Args<double>&) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    x.y[i] = sum;
    sum += x.x[i];
  }
}

}  // namespace klab
