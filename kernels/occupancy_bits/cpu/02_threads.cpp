// occupancy_bits.cpu.02_threads: cells shared out among the cores.
//
// CHANGE   threads take runs of cells for both passes.
// EXPECT   near the number of cores, or the bandwidth of the memory.
#include <algorithm>

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

constexpr int64_t kPiece = 1 << 14;

void run(const OccupancyBits::Args<float>& x) {
  const float scale = OccupancyBits::scale_of(x.shape.cells);
  const int64_t cells = x.shape.cells, pieces = (cells + kPiece - 1) / kPiece;
  int64_t sum = 0, all = 0, set = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, all) if (pieces > 1)
  for (int64_t p = 0; p < pieces; ++p) {
    const Seen seen = sum_of(x.values, scale, p * kPiece, std::min(cells, (p + 1) * kPiece));
    sum += seen.sum;
    all += seen.cells;
  }
  const float limit = OccupancyBits::limit_of(*x.threshold, sum, all, scale);
#pragma omp parallel for schedule(static) reduction(+ : set) if (pieces > 1)
  for (int64_t p = 0; p < pieces; ++p)
    set += set_bits(x, limit, p * kPiece / 8, std::min(cells, (p + 1) * kPiece) / 8);
  *x.occupied = int32_t(set);
}

KLAB_VARIANT(OccupancyBits, {.run = run, .parent = "01_naive", .tiles = {kPiece}});

}  // namespace
}  // namespace klab
