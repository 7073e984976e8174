// occupancy_choose.cpu.02_threads: pieces of the stretch chosen in parallel, then closed up.
//
// CHANGE   each thread chooses from pieces of 4096 cells into their own place; a running sum closes up the
//          gaps.
// EXPECT   near the number of cores; values that are moved twice lie in a cache.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/philox.h"
#include "reference/occupancy_choose/occupancy_choose.h"

namespace klab {
namespace {

bool wanted(const OccupancyChoose::Args<float>& x, const OccupancyChoose::Thresholds& limits, uint32_t w,
            int64_t c) {
  if (!(x.values[c] >= 0)) return false;
  if (x.shape.all || (w >> 16) < limits.any) return true;
  return (x.bits[c / 8] >> (c % 8) & 1) != 0 && (w & 0xFFFF) < limits.occupied;
}

/// Chosen cells of [begin, end), multiples of four, written from `out` on; how many.
int64_t choose(const OccupancyChoose::Args<float>& x, int64_t begin, int64_t end, int32_t* out) {
  const auto limits = OccupancyChoose::thresholds(*x.share, x.shape.grid_cells, *x.occupied);
  int64_t n = 0;
  for (int64_t c = begin; c < end; c += 4) {
    const uint64_t block = uint64_t(x.shape.first + c) / 4;
    const PhiloxWords words =
        x.shape.all ? PhiloxWords{} : philox(block + (uint64_t{3} << 48), x.seed, x.step);
    for (int64_t k = 0; k < 4; ++k)
      if (wanted(x, limits, words.w[k], c + k)) out[n++] = int32_t(c + k);
  }
  return n;
}

constexpr int64_t kPiece = 4096;

void run(const OccupancyChoose::Args<float>& x) {
  const int64_t cells = x.shape.cells, pieces = (cells + kPiece - 1) / kPiece;
  std::vector<int64_t> counts(size_t(pieces), 0);
#pragma omp parallel for schedule(static) if (pieces > 1)
  for (int64_t p = 0; p < pieces; ++p)
    counts[size_t(p)] = choose(x, p * kPiece, std::min(cells, (p + 1) * kPiece), x.chosen + p * kPiece);
  int64_t n = 0;
  for (int64_t p = 0; p < pieces; ++p) {
    std::copy_n(x.chosen + p * kPiece, counts[size_t(p)], x.chosen + n);  // never behind its old place
    n += counts[size_t(p)];
  }
  *x.count = int32_t(n);
  std::fill(x.chosen + n, x.chosen + cells, -1);
}

KLAB_VARIANT(OccupancyChoose, {.run = run, .parent = "01_naive", .tiles = {kPiece}});

}  // namespace
}  // namespace klab
