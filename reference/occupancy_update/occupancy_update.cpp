#include "reference/occupancy_update/occupancy_update.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void OccupancyUpdate::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  std::uniform_real_distribution<float> unit(0, 1);
  *const_cast<float*>(x.decay) = random.widely ? unit(random) : 0.95F;
  *const_cast<float*>(x.step_size) = random.widely ? std::exp2(-20 * unit(random)) : 0.0045F;
  for (int64_t c = 0; c < s.cells; ++c)
    x.values[c] = random() % 5 == 0                    ? -1.0F
                  : random.widely && random() % 4 == 0 ? -0.0F
                                                       : float(random() % 1000) * 1e-3F;
  // Chooses each cell with probability samples/cells, in order.
  auto* chosen = const_cast<int32_t*>(x.chosen);
  int64_t n = 0;
  for (int64_t c = 0; c < s.cells && n < s.samples; ++c)
    if (int64_t(random() % uint64_t(s.cells)) < s.samples) chosen[n++] = int32_t(c);
  std::fill(chosen + n, chosen + s.samples, -1);
  for (int64_t i = 0; i < s.samples; ++i) const_cast<float*>(x.raw)[i] = std::remainder(x.raw[i], 24.0F);
}

void OccupancyUpdate::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  for (int64_t c = 0; c < s.cells; ++c) {
    if (s.decays && x.values[c] > 0) x.values[c] *= *x.decay;
    magnitude.values[c] = std::abs(x.values[c]);
  }
  for (int64_t i = 0; i < s.samples; ++i) {
    if (x.chosen[i] < 0) continue;
    double& value = x.values[x.chosen[i]];
    value = std::max(value, std::exp(x.raw[i]) * *x.step_size);
    magnitude.values[x.chosen[i]] = std::abs(value);
  }
}

}  // namespace klab
