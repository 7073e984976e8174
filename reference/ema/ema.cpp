#include "reference/ema/ema.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void Ema::arrange(const Args<float>& x, Generator& random) {
  const_cast<float*>(x.keep)[0] = random() % 4 ? 0.95F : 0.0F;
  if (random.widely) const_cast<float*>(x.keep)[0] = float(random() % (1 << 20)) * 0x1p-20F;
}

void Ema::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    magnitude.average[i] = *x.keep * std::abs(x.average[i]) + (1 - *x.keep) * std::abs(x.now[i]);
    x.average[i] = *x.keep * x.average[i] + (1 - *x.keep) * x.now[i];
  }
}

}  // namespace klab
