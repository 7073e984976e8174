// matmul_bwd.cpu.03_packed_simd: two products by the forward's tile; packing undoes the transpositions.
//
// CHANGE    both gradients are products of packed blocks. The tile reads panels and cannot tell where
//           they came from, so that Bᵀ and Aᵀ are never formed: only the copy that makes the panels
//           differs.
// EXPECT    the forward's speed, twice its time: the same tile, and as much to pack. At least 3 times at
//           512.
// NUMERICS  float, fused multiply-add where the machine has it; chains of at most 384 additions, then one
//           a block.
// NEEDS     nothing; scratch memory for one block of each operand.
#include <algorithm>

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

/// C[m,n] = left[m,k]·right[k,n].
void product(int64_t m, int64_t n, int64_t k, const Operand& left, const Operand& right, float* c) {
  static thread_local Scratch left_scratch, right_scratch;
  if (k == 0) std::fill_n(c, m * n, 0.0F);
  const int64_t most_depth = std::min(k, kBlockDepth);
  float* left_packed = left_scratch.floats(whole(std::min(m, kBlockRows), kRows) * most_depth);
  float* right_packed =
      right_scratch.floats(whole(std::min(n, kBlockColumns), sgemm::columns()) * most_depth);
  for (int64_t jc = 0; jc < n; jc += kBlockColumns)
    for (int64_t pc = 0; pc < k; pc += kBlockDepth) {
      const int64_t columns = std::min(kBlockColumns, n - jc);
      const int64_t depth = std::min(kBlockDepth, k - pc);
      pack_right(right, pc, jc, depth, columns, right_packed);
      for (int64_t ic = 0; ic < m; ic += kBlockRows) {
        const int64_t rows = std::min(kBlockRows, m - ic);
        pack_left(left, ic, pc, rows, depth, left_packed);
        block(rows, columns, depth, left_packed, right_packed, c + ic * n + jc, n, pc > 0);
      }
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
                         .parent = "02_loop_order",
                         .forward = "05_packed_simd",
                         .tiles = {6, 8, 16, 32, 64, 96, 384, 4096},
                         .expect = {.shape = {512, 512, 512}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
