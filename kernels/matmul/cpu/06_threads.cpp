// matmul.cpu.06_threads: one product on all cores.
//
// CHANGE    C is cut into a grid of rectangles, one a thread; each thread does the parent's work for its own.
//           The grid is chosen by the shape.
// EXPECT    nearly as many times faster as there are cores at 1024 (at least 1.7 on two); a little at 256;
//           nothing where the product is so small that waking threads takes as long.
// NUMERICS  as the parent: the same additions in the same order, so the same bits with any number of threads.
// NEEDS     OpenMP. No atomics: no two threads write the same element.
// TRIED     see NOTES.md, cpu.06_threads
#include <omp.h>

#include <algorithm>
#include <utility>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/matmul/matmul.h"

#include "kernels/common/sgemm_pack-inl.h"
#include "kernels/common/sgemm_tile-inl.h"

KLAB_SIMD_BEGIN();

namespace sgemm = klab::sgemm::HWY_NAMESPACE;
using sgemm::kRows;
using sgemm::whole;

// A block of A, kBlockRows × kBlockDepth: 144 KB, L2. A block of B, kBlockDepth × kBlockColumns: 6 MB at
// most, L3.
constexpr int64_t kBlockDepth = 384;
constexpr int64_t kBlockRows = 16 * kRows;
constexpr int64_t kBlockColumns = 4096;

#include "kernels/matmul/cpu/06_threads-inl.h"

void multiply(const Matmul::Args<float>& x) {
  const int64_t m = x.shape.m, n = x.shape.n, k = x.shape.k;
  if (k == 0) std::fill_n(x.c, m * n, 0.0F);
#pragma omp parallel num_threads(choose_threads(x.shape))
  {
    const auto [rows, columns] = choose_grid(x.shape, omp_get_num_threads());
    const int64_t r = omp_get_thread_num() / columns, c = omp_get_thread_num() % columns;
    if (r < rows)
      multiply_part(x, {cut(m, kRows, r, rows), cut(m, kRows, r + 1, rows),
                        cut(n, sgemm::columns(), c, columns), cut(n, sgemm::columns(), c + 1, columns)});
  }
}

KLAB_SIMD_ONCE(multiply);

#if HWY_ONCE
void run(const Matmul::Args<float>& x) { HWY_DYNAMIC_DISPATCH(multiply)(x); }

// Tiles are 6 rows and, by machine, 8, 16, 32 or 64 columns; then the blocks.
KLAB_VARIANT(Matmul, {.run = run,
                      .parent = "05_packed_simd",
                      .tiles = {6, 8, 16, 32, 64, 96, 384, 4096},
                      .expect = {.shape = {1024, 1024, 1024}, .over_parent = 1.7}});
KLAB_SIMD_CLOSE();
#endif
