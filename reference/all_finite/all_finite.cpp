#include "reference/all_finite/all_finite.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void AllFinite::arrange(const Args<float>& x, Generator& random) {
  *x.first = random() % (random.widely ? 2 : 3) ? 0x7FFFFFFF : int32_t(random() % 100);
  auto* p = const_cast<float*>(x.p);
  std::uniform_real_distribution<float> unit(-1, 1);
  // Values next to the ones that are not finite: the largest numbers, and the smallest.
  const float far[] = {3.4028235e38F, -3.4028235e38F, 1e-45F, -0.0F, 1e30F};
  for (int64_t i = 0; i < x.shape.n; ++i)
    p[i] = random.widely && random() % 4 == 0 ? far[random() % 5] : unit(random);
  const float bad[] = {NAN, INFINITY, -INFINITY, -NAN};
  // A gradient is finite in almost all steps: that is the usual draw. Otherwise one kind of value as a rule,
  // so that none hides another.
  const uint64_t kind = random() % 4;
  // A few of them, or many: several threads have one then.
  const uint64_t many = random() % 3 == 0 ? uint64_t(x.shape.n) / 16 : random() % 4;
  for (uint64_t k = random.widely ? many : 0; x.shape.n > 0 && k > 0; --k)
    p[random() % uint64_t(x.shape.n)] = bad[random() % 4 == 0 ? random() % 4 : kind];
  if (random.widely && random() % 2) *x.first = 0x7FFFFFFF;
}

void AllFinite::reference(const Args<double>& x, const Args<double>&) {
  for (int64_t i = x.shape.n; i-- > 0;)
    if (!std::isfinite(x.p[i])) *x.first = std::min(*x.first, int32_t(i));
}

}  // namespace klab
