#include "reference/occupancy_bits/occupancy_bits.h"

#include <bit>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void OccupancyBits::arrange(const Args<float>& x, Generator& random) {
  *const_cast<float*>(x.threshold) = random() % 2 ? 0.01F : 1e6F;
  std::uniform_real_distribution<float> unit(-12, 10);
  // Sometimes all are nearly alike, as before training.
  const float spread = random() % 3 ? 1.0F : 1e-6F;
  for (int64_t c = 0; c < x.shape.cells; ++c)
    const_cast<float*>(x.values)[c] =
        random() % 5 == 0 ? -1.0F : std::exp(spread * unit(random) - (spread < 1 ? 5.0F : 0.0F));
}

void OccupancyBits::reference(const Args<double>& x, const Args<double>&) {
  const Shape& s = x.shape;
  const float scale = scale_of(s.cells);
  int64_t sum = 0, seen = 0;
  for (int64_t c = 0; c < s.cells; ++c) {
    if (!(x.values[c] >= 0)) continue;
    sum += fixed(float(x.values[c]), scale);
    ++seen;
  }
  const float limit = limit_of(float(*x.threshold), sum, seen, scale);
  *x.occupied = 0;
  for (int64_t b = 0; b < s.cells / 8; ++b) {
    unsigned byte = 0;
    for (int64_t bit = 0; bit < 8; ++bit) byte |= unsigned(float(x.values[b * 8 + bit]) > limit) << bit;
    x.bits[b] = uint8_t(byte);
    *x.occupied += std::popcount(byte);
  }
}

}  // namespace klab
