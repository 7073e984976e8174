// matmul_bwd.cpu.04_threads: both products on all cores.
//
// CHANGE    each product is cut into a grid of rectangles, one a thread, as the threaded forward does.
// EXPECT    nearly as many times faster as there are cores: at least 1.7 on two at 1024.
// NUMERICS  as the parent: the same additions in the same order, so the same bits with any number of
//           threads.
// NEEDS     OpenMP. No atomics: no two threads write the same element.
#include <omp.h>

#include <algorithm>
#include <utility>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/matmul_bwd/matmul_bwd.h"

#include "kernels/common/sgemm_pack-inl.h"
#include "kernels/common/sgemm_tile-inl.h"

KLAB_SIMD_BEGIN();

namespace sgemm = klab::sgemm::HWY_NAMESPACE;
using sgemm::kRows;
using sgemm::whole;

#include "kernels/matmul_bwd/cpu/03_packed_simd-inl.h"

/// A part of C: rows [i0, i1) and columns [j0, j1).
struct Rectangle {
  int64_t i0, i1, j0, j1;
};

/// One rectangle of C = left·right; k is the length of the sums, n that of C's rows.
void multiply_part(const Rectangle& part, int64_t n, int64_t k, const Operand& left, const Operand& right,
                   float* c) {
  static thread_local Scratch left_scratch, right_scratch;
  const int64_t most_depth = std::min(k, kBlockDepth);
  float* left_packed =
      left_scratch.floats(whole(std::min(part.i1 - part.i0, kBlockRows), kRows) * most_depth);
  float* right_packed =
      right_scratch.floats(whole(std::min(part.j1 - part.j0, kBlockColumns), sgemm::columns()) * most_depth);
  for (int64_t jc = part.j0; jc < part.j1; jc += kBlockColumns)
    for (int64_t pc = 0; pc < k; pc += kBlockDepth) {
      const int64_t columns = std::min(kBlockColumns, part.j1 - jc);
      const int64_t depth = std::min(kBlockDepth, k - pc);
      pack_right(right, pc, jc, depth, columns, right_packed);
      for (int64_t ic = part.i0; ic < part.i1; ic += kBlockRows) {
        const int64_t rows = std::min(kBlockRows, part.i1 - ic);
        pack_left(left, ic, pc, rows, depth, left_packed);
        block(rows, columns, depth, left_packed, right_packed, c + ic * n + jc, n, pc > 0);
      }
    }
}

struct Grid {
  int64_t rows, columns;
};

/// Chooses how to cut C among threads: the grid whose largest rectangle has the fewest tiles, because the
/// slowest thread sets the time. Among equals it takes the one whose rectangle has the shortest sides,
/// because those are packed.
Grid choose_grid(int64_t m, int64_t n, int64_t threads) {
  const int64_t tile_rows = whole(m, kRows) / kRows;
  const int64_t tile_columns = whole(n, sgemm::columns()) / sgemm::columns();
  const auto cost = [&](int64_t rows, int64_t columns) {
    const int64_t height = (tile_rows + rows - 1) / rows, width = (tile_columns + columns - 1) / columns;
    return std::pair(height * width, height * kRows + width * sgemm::columns());
  };
  Grid best{1, 1};
  for (int64_t rows = 1; rows <= threads; ++rows)
    if (cost(rows, threads / rows) < cost(best.rows, best.columns)) best = {rows, threads / rows};
  return best;
}

/// The part-th of `parts` nearly equal shares of [0, size), in whole panels, begins here.
int64_t cut(int64_t size, int64_t panel, int64_t part, int64_t parts) {
  return std::min(size, whole(size, panel) / panel * part / parts * panel);
}

/// As many threads as there are portions of work that take several times as long as waking a thread.
int choose_threads(int64_t m, int64_t n, int64_t k) {
  constexpr double portion = 5e5;  // operations: some microseconds
  const double portions = 2.0 * double(m) * double(n) * double(k) / portion;
  return std::max(1, int(std::min(portions, double(omp_get_max_threads()))));
}

/// C[m,n] = left[m,k]·right[k,n].
void product(int64_t m, int64_t n, int64_t k, const Operand& left, const Operand& right, float* c) {
  if (k == 0) std::fill_n(c, m * n, 0.0F);
#pragma omp parallel num_threads(choose_threads(m, n, k))
  {
    const auto [rows, columns] = choose_grid(m, n, omp_get_num_threads());
    const int64_t row = omp_get_thread_num() / columns, column = omp_get_thread_num() % columns;
    if (row < rows)
      multiply_part(
          {cut(m, kRows, row, rows), cut(m, kRows, row + 1, rows), cut(n, sgemm::columns(), column, columns),
           cut(n, sgemm::columns(), column + 1, columns)},
          n, k, left, right, c);
  }
}

void gradients(const MatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  product(m, k, n, {x.d_c, n, false}, {x.b, n, true}, x.d_a);  // d_a = d_c·Bᵀ
  product(k, n, m, {x.a, k, true}, {x.d_c, n, false}, x.d_b);  // d_b = Aᵀ·d_c
}

KLAB_SIMD_ONCE(gradients);

#if HWY_ONCE
void run(const MatmulBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(gradients)(x); }

// Tiles are 6 rows and, by machine, 8, 16, 32 or 64 columns; then the blocks.
KLAB_VARIANT(MatmulBwd, {.run = run,
                         .parent = "03_packed_simd",
                         .forward = "06_threads",
                         .tiles = {6, 8, 16, 32, 64, 96, 384, 4096},
                         .expect = {.shape = {1024, 1024, 1024}, .over_parent = 1.7}});
KLAB_SIMD_CLOSE();
#endif
