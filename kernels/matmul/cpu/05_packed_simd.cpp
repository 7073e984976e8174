// matmul.cpu.05_packed_simd: blocks are copied into the order in which a wide tile reads them.
//
// CHANGE    before use, blocks of A and B are packed into panels: the tile reads consecutive memory
//           (kernels/common/sgemm_pack-inl.h). The tile is as wide as this machine's vectors allow
//           (kernels/common/sgemm_tile-inl.h).
// EXPECT    8 or 16 lanes for 4 and fused multiply-adds give 4 to 8 times; panels have no strides, so no
//           cache lines that push each other out, and powers of two are as good as other sizes. At least 3
//           times at 1024.
// NUMERICS  float, fused multiply-add where the machine has it; chains of at most 384 additions, then one a
//           block.
// NEEDS     nothing; scratch memory for one block of A and one of B.
// TRIED     see NOTES.md, cpu.05_packed_simd
#include <algorithm>

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

/// C[rows,columns] = or += the product of packed blocks.
void block(int64_t rows, int64_t columns, int64_t depth, const float* a, const float* b, float* c, int64_t n,
           bool add) {
  for (int64_t j = 0; j < columns; j += sgemm::columns())
    for (int64_t i = 0; i < rows; i += kRows) {
      const int64_t height = std::min(kRows, rows - i), width = std::min(sgemm::columns(), columns - j);
      if (height == kRows && width == sgemm::columns())
        sgemm::tile(depth, a + i * depth, b + j * depth, c + i * n + j, n, add);
      else
        sgemm::edge_tile(height, width, depth, a + i * depth, b + j * depth, c + i * n + j, n, add);
    }
}

void multiply(const Matmul::Args<float>& x) {
  static thread_local Scratch a_scratch, b_scratch;
  const auto [m, n, k] = x.shape;
  if (k == 0) std::fill_n(x.c, m * n, 0.0F);
  const int64_t most_depth = std::min(k, kBlockDepth);
  float* a_packed = a_scratch.floats(whole(std::min(m, kBlockRows), kRows) * most_depth);
  float* b_packed = b_scratch.floats(whole(std::min(n, kBlockColumns), sgemm::columns()) * most_depth);
  for (int64_t jc = 0; jc < n; jc += kBlockColumns)
    for (int64_t pc = 0; pc < k; pc += kBlockDepth) {
      const int64_t columns = std::min(kBlockColumns, n - jc);
      const int64_t depth = std::min(kBlockDepth, k - pc);
      sgemm::copy_panels(x.b + pc * n + jc, n, columns, depth, sgemm::columns(), b_packed);
      for (int64_t ic = 0; ic < m; ic += kBlockRows) {
        const int64_t rows = std::min(kBlockRows, m - ic);
        sgemm::transpose_panels(x.a + ic * k + pc, k, rows, depth, kRows, a_packed);
        block(rows, columns, depth, a_packed, b_packed, x.c + ic * n + jc, n, pc > 0);
      }
    }
}

KLAB_SIMD_ONCE(multiply);

#if HWY_ONCE
void run(const Matmul::Args<float>& x) { HWY_DYNAMIC_DISPATCH(multiply)(x); }

// Tiles are 6 rows and, by machine, 8, 16, 32 or 64 columns; then the blocks.
KLAB_VARIANT(Matmul, {.run = run,
                      .parent = "04_cache_tile",
                      .tiles = {6, 8, 16, 32, 64, 96, 384, 4096},
                      .expect = {.shape = {1024, 1024, 1024}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
