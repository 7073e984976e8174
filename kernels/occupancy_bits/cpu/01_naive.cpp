// occupancy_bits.cpu.01_naive: one pass for the mean, one for the bits.
//
// CHANGE   the naive loops.
// EXPECT   4 bytes a cell, twice: the mean must be known first.
#include "harness/core/registrar.h"
#include "reference/occupancy_bits/occupancy_bits.h"

namespace klab {
namespace {

/// Sum and number of the values of [begin, end) that count.
struct Seen {
  int64_t sum = 0, cells = 0;
};

Seen sum_of(const float* values, float scale, int64_t begin, int64_t end) {
  Seen seen;
  for (int64_t c = begin; c < end; ++c) {
    const bool counts = values[c] >= 0;
    seen.sum += counts ? OccupancyBits::fixed(values[c], scale) : 0;
    seen.cells += counts;
  }
  return seen;
}

/// Bytes [begin, end) of the field; how many bits are set.
int64_t set_bits(const OccupancyBits::Args<float>& x, float limit, int64_t begin, int64_t end) {
  int64_t set = 0;
  for (int64_t b = begin; b < end; ++b) {
    unsigned byte = 0;
    for (int64_t bit = 0; bit < 8; ++bit) byte |= unsigned(x.values[b * 8 + bit] > limit) << bit;
    x.bits[b] = uint8_t(byte);
    set += __builtin_popcount(byte);
  }
  return set;
}

void run(const OccupancyBits::Args<float>& x) {
  const float scale = OccupancyBits::scale_of(x.shape.cells);
  const Seen seen = sum_of(x.values, scale, 0, x.shape.cells);
  const float limit = OccupancyBits::limit_of(*x.threshold, seen.sum, seen.cells, scale);
  *x.occupied = int32_t(set_bits(x, limit, 0, x.shape.cells / 8));
}

KLAB_VARIANT(OccupancyBits, {.run = run});

}  // namespace
}  // namespace klab
