#include "reference/occupancy_choose/occupancy_choose.h"

#include <algorithm>

#include "reference/dropout_fwd/philox.h"
#include "reference/generator.h"

namespace klab {
namespace {

uint32_t word_of(const OccupancyChoose::Args<float>& x, int64_t cell) {
  const auto at = uint64_t(x.shape.first + cell), block = at / 4;
  return dropout::random_words({uint32_t(block), 3U << 16 | uint32_t(block >> 32), x.step[0], x.step[1]},
                               {x.seed[0], x.seed[1]})[size_t(at % 4)];
}

/// Takes seeds until half a word of some cell is one of the thresholds, which by itself comes once in 65,536 cells.
void meet_threshold(const OccupancyChoose::Args<float>& x, Generator& random) {
  const auto limits = OccupancyChoose::thresholds(*x.share, x.shape.grid_cells, *x.occupied);
  const bool any = random() % 2 == 0;
  constexpr int64_t kWords = 200'000;
  for (int64_t tried = 0; tried < kWords && x.shape.cells > 0;) {
    for (int64_t c = 0; c < x.shape.cells; ++c, ++tried) {
      const uint32_t w = word_of(x, c);
      const bool occupied = x.bits[c / 8] >> (c % 8) & 1;
      if (!(x.values[c] >= 0)) continue;
      if (any ? (w >> 16) == limits.any
              : occupied && (w >> 16) >= limits.any && (w & 0xFFFF) == limits.occupied)
        return;
    }
    ++const_cast<uint32_t*>(x.seed)[0];
  }
}

}  // namespace

void OccupancyChoose::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  for (int k = 0; k < 2; ++k) const_cast<uint32_t*>(x.seed)[k] = uint32_t(random());
  const_cast<uint32_t*>(x.step)[0] = uint32_t(random.widely ? random() : random() % 1000);
  if (random.widely) const_cast<uint32_t*>(x.step)[1] = uint32_t(random());
  *const_cast<int32_t*>(x.occupied) = int32_t(random() % uint64_t(s.grid_cells + 1));
  *const_cast<float*>(x.share) = float(random() % 5) / 8;
  for (int64_t c = 0; c < s.cells; ++c)
    const_cast<float*>(x.values)[c] = random() % 5 == 0                    ? -1.0F
                                      : random.widely && random() % 4 == 0 ? -0.0F
                                                                           : float(random() % 3);
  for (int64_t b = 0; b < s.cells / 8; ++b)
    const_cast<uint8_t*>(x.bits)[b] = random() % 2 ? uint8_t(random()) : uint8_t(0);
  if (random.widely && !s.all) meet_threshold(x, random);
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
