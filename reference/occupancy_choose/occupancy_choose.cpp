#include "reference/occupancy_choose/occupancy_choose.h"

#include <algorithm>

#include "reference/dropout_fwd/philox.h"
#include "reference/generator.h"

namespace klab {

void OccupancyChoose::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  for (int k = 0; k < 2; ++k) const_cast<uint32_t*>(x.seed)[k] = uint32_t(random());
  *const_cast<uint32_t*>(x.step) = uint32_t(random.widely ? random() : random() % 1000);
  *const_cast<int32_t*>(x.occupied) = int32_t(random() % uint64_t(s.grid_cells + 1));
  *const_cast<float*>(x.share) = float(random() % 5) / 8;
  for (int64_t c = 0; c < s.cells; ++c)
    const_cast<float*>(x.values)[c] = random() % 5 == 0                    ? -1.0F
                                      : random.widely && random() % 4 == 0 ? -0.0F
                                                                           : float(random() % 3);
  for (int64_t b = 0; b < s.cells / 8; ++b)
    const_cast<uint8_t*>(x.bits)[b] = random() % 2 ? uint8_t(random()) : uint8_t(0);
}

void OccupancyChoose::reference(const Args<double>& x, const Args<double>&) {
  const Shape& s = x.shape;
  const float share = float(*x.share);
  const Thresholds limits = thresholds(share, s.grid_cells, *x.occupied);
  int32_t n = 0;
  for (int64_t c = 0; c < s.cells; ++c) {
    if (!(x.values[c] >= 0)) continue;
    const auto block = uint64_t(s.first + c) / 4;
    const auto words = dropout::random_words(
        {uint32_t(block), 3U << 16 | uint32_t(block >> 32), x.step[0], x.step[1]}, {x.seed[0], x.seed[1]});
    const uint32_t w = words[size_t(s.first + c) % 4];
    const bool occupied = x.bits[c / 8] >> (c % 8) & 1;
    if (s.all || (w >> 16) < limits.any || (occupied && (w & 0xFFFF) < limits.occupied))
      x.chosen[n++] = int32_t(c);
  }
  *x.count = n;
  std::fill(x.chosen + n, x.chosen + s.cells, -1);
}

}  // namespace klab
