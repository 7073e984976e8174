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

#include "kernels/occupancy_choose/cpu/01_naive-inl.h"

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
