// occupancy_bits.cpu.02_threads: cells shared out among the cores.
//
// CHANGE   threads take runs of cells for both passes.
// EXPECT   near the number of cores, or the bandwidth of the memory.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/occupancy_bits/occupancy_bits.h"

namespace klab {
namespace {

#include "kernels/occupancy_bits/cpu/01_naive-inl.h"

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
