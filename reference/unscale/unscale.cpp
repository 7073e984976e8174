#include "reference/unscale/unscale.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void Unscale::arrange(const Args<float>& x, Generator& random) {
  *const_cast<float*>(x.scale) = float(1 << random() % 17);
  if (random.widely) *const_cast<float*>(x.scale) = std::ldexp(1.0F, int(random() % 61) - 30);
  *const_cast<int32_t*>(x.first) = !random.widely || random() % 3 ? 0x7FFFFFFF : int32_t(random() % 100);
  // Values that are not finite, at any place: all_finite tests several arrays one after the other, so `first`
  // may belong to another one.
  const float bad[] = {NAN, INFINITY, -INFINITY};
  for (int64_t k = 0; *x.first != 0x7FFFFFFF && k < x.shape.n; k += 1 + int64_t(random() % 64))
    x.gradient[k] = bad[random() % 3];
}

void Unscale::reference(const Args<double>& x, const Args<double>& magnitude) {
  const bool finite = *x.first == 0x7FFFFFFF;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    x.gradient[i] = finite ? x.gradient[i] / *x.scale : 0;
    magnitude.gradient[i] = std::abs(x.gradient[i]);
  }
}

}  // namespace klab
