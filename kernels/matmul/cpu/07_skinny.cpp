// matmul.cpu.07_skinny: data that is used only a few times is not packed.
//
// CHANGE    with at most 24 rows of A, the tile reads B where it lies. The rows are shared out evenly to
//           tiles, so that none is padded.
// EXPECT    at 8 rows the parent moves each float of B three times (read, write, read again) for two uses;
//           this moves it once: at least 1.5 times. Above 24 rows it is the parent.
// NUMERICS  as the parent.
// NEEDS     nothing more than the parent.
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

// Up to this many rows of A, B is read in place.
constexpr int64_t kFewRows = 24;

#include "kernels/matmul/cpu/06_threads-inl.h"

/// All rows of `columns` columns of C, by tiles of kHeight rows; a: their panels, one after the other.
template <int64_t kHeight>
void skinny_block(const Matmul::Args<float>& x, int64_t pc, int64_t depth, int64_t j, int64_t columns,
                  const float* a, float* scratch) {
  const auto [m, n, k] = x.shape;
  const float* b = x.b + pc * n + j;
  int64_t b_stride = n;
  if (columns < sgemm::columns()) {  // the last columns: the tile would read beyond the row
    sgemm::copy_panels(b, n, columns, depth, sgemm::columns(), scratch);
    b = scratch;
    b_stride = sgemm::columns();
  }
  HWY_ALIGN float whole_tile[kHeight * sgemm::kMaxColumns];
  for (int64_t i = 0; i < m; i += kHeight) {
    const int64_t height = std::min(kHeight, m - i);
    float* c = x.c + i * n + j;
    if (height == kHeight && columns == sgemm::columns()) {
      sgemm::strided_tile<kHeight, 8>(depth, a + i * depth, b, b_stride, c, n, pc > 0);
      continue;
    }
    sgemm::strided_tile<kHeight, 0>(depth, a + i * depth, b, b_stride, whole_tile, sgemm::columns(), false);
    for (int64_t r = 0; r < height; ++r)
      for (int64_t s = 0; s < columns; ++s) {
        const float sum = whole_tile[r * sgemm::columns() + s];
        c[r * n + s] = pc > 0 ? c[r * n + s] + sum : sum;
      }
  }
}

/// Columns [j0, j1) of C.
template <int64_t kHeight>
void skinny_part(const Matmul::Args<float>& x, int64_t j0, int64_t j1) {
  static thread_local Scratch a_scratch, b_scratch;
  const auto [m, n, k] = x.shape;
  const int64_t most_depth = std::min(k, kBlockDepth);
  float* a_packed = a_scratch.floats(whole(m, kHeight) * most_depth);
  float* last_columns = b_scratch.floats(sgemm::columns() * most_depth);
  for (int64_t pc = 0; pc < k; pc += kBlockDepth) {
    const int64_t depth = std::min(kBlockDepth, k - pc);
    sgemm::transpose_panels(x.a + pc, k, m, depth, kHeight, a_packed);
    for (int64_t j = j0; j < j1; j += sgemm::columns())
      skinny_block<kHeight>(x, pc, depth, j, std::min(sgemm::columns(), j1 - j), a_packed, last_columns);
  }
}

/// The lowest tile that covers m rows with as few tiles as the highest would.
void skinny_product(const Matmul::Args<float>& x, int64_t j0, int64_t j1) {
  const int64_t m = x.shape.m;
  const int64_t tiles = whole(m, kRows) / kRows;
  switch ((m + tiles - 1) / tiles) {
    case 1:
      return skinny_part<1>(x, j0, j1);
    case 2:
      return skinny_part<2>(x, j0, j1);
    case 3:
      return skinny_part<3>(x, j0, j1);
    case 4:
      return skinny_part<4>(x, j0, j1);
    case 5:
      return skinny_part<5>(x, j0, j1);
    default:
      return skinny_part<kRows>(x, j0, j1);
  }
}

void multiply(const Matmul::Args<float>& x) {
  const int64_t m = x.shape.m, n = x.shape.n, k = x.shape.k;
  if (m == 0) return;
  if (k == 0) std::fill_n(x.c, m * n, 0.0F);
  if (m <= kFewRows) {
#pragma omp parallel num_threads(choose_threads(x.shape))
    skinny_product(x, cut(n, sgemm::columns(), omp_get_thread_num(), omp_get_num_threads()),
                   cut(n, sgemm::columns(), omp_get_thread_num() + 1, omp_get_num_threads()));
    return;
  }
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

// Tiles are 6 rows and, by machine, 8, 16, 32 or 64 columns; then the blocks; then the most rows that are few.
KLAB_VARIANT(Matmul, {.run = run,
                      .parent = "06_threads",
                      .tiles = {6, 8, 16, 32, 64, 96, 384, 4096, 12, 18, 24},
                      .expect = {.shape = {8, 2048, 2048}, .over_parent = 1.5},
                      .when = {{8, 2048, 2048}, "few rows: the packed copy is used too seldom"},
                      .was = {"07_few_rows"}});
KLAB_SIMD_CLOSE();
#endif
