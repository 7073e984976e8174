// matmul.cpu.05_packed_simd: blocks are copied into the order in which a wide tile reads them.
//
// CHANGE    before use, blocks of A and B are packed into panels: what the tile reads next is what lies next
// in
//           memory. The tile is as wide as this machine's vectors allow (kernels/common/sgemm_tile-inl.h).
// EXPECT    8 or 16 lanes for 4 and fused multiply-adds give 4 to 8 times; panels have no strides, so no
// cache lines
//           that push each other out, and powers of two are as good as other sizes. At least 3 times at 1024.
// NUMERICS  float, fused multiply-add where the machine has it; chains of at most 384 additions, then one a
// block. NEEDS     nothing; scratch memory for one block of A and one of B. TRIED     kBlockDepth 128, which
// keeps a 64-column panel of B inside 32 KB of L1: C is read and written three times
//           as often, which costs more than fetching the panel from L2. A 14×2 tile: twice the panels of B.
//           An 8×3 tile: its 48 columns divide fewer sizes.
#include <algorithm>

#include "harness/registrar.h"
#include "kernels/common/scratch.h"
#include "reference/matmul/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/cpu/05_packed_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "kernels/common/sgemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace sgemm = klab::sgemm::HWY_NAMESPACE;
using sgemm::kRows;

// A block of A, kBlockRows × kBlockDepth: 144 KB, L2. A block of B, kBlockDepth × kBlockColumns: 6 MB at
// most, L3.
constexpr int64_t kBlockDepth = 384;
constexpr int64_t kBlockRows = 16 * kRows;
constexpr int64_t kBlockColumns = 4096;

// Round up to whole panels.
int64_t whole(int64_t size, int64_t panel) { return (size + panel - 1) / panel * panel; }

/// A[rows,depth] -> panels of kRows rows, [panel][depth][kRows]; rows beyond the last are zeros.
void pack_a(const float* a, int64_t stride, int64_t rows, int64_t depth, float* to) {
  for (int64_t i0 = 0; i0 < rows; i0 += kRows, a += kRows * stride) {
    const int64_t height = std::min(kRows, rows - i0);
    int64_t p = 0;
#if HWY_TARGET != HWY_SCALAR
    // Four columns of six rows at a time: pairs of rows are interleaved, then halves of pairs put in order.
    const hn::FixedTag<float, 4> d;
    static_assert(kRows == 6);
    for (; height == kRows && p + 4 <= depth; p += 4, to += 4 * kRows) {
      const auto r0 = hn::LoadU(d, a + p), r1 = hn::LoadU(d, a + stride + p);
      const auto r2 = hn::LoadU(d, a + 2 * stride + p), r3 = hn::LoadU(d, a + 3 * stride + p);
      const auto r4 = hn::LoadU(d, a + 4 * stride + p), r5 = hn::LoadU(d, a + 5 * stride + p);
      const auto low01 = hn::InterleaveLower(d, r0, r1), high01 = hn::InterleaveUpper(d, r0, r1);
      const auto low23 = hn::InterleaveLower(d, r2, r3), high23 = hn::InterleaveUpper(d, r2, r3);
      const auto low45 = hn::InterleaveLower(d, r4, r5), high45 = hn::InterleaveUpper(d, r4, r5);
      hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, to);
      hn::StoreU(hn::ConcatUpperLower(d, low01, low45), d, to + 4);
      hn::StoreU(hn::ConcatUpperUpper(d, low45, low23), d, to + 8);
      hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, to + 12);
      hn::StoreU(hn::ConcatUpperLower(d, high01, high45), d, to + 16);
      hn::StoreU(hn::ConcatUpperUpper(d, high45, high23), d, to + 20);
    }
#endif
    for (; p < depth; ++p)
      for (int64_t i = 0; i < kRows; ++i) *to++ = i < height ? a[i * stride + p] : 0.0F;
  }
}

/// B[depth,columns] -> panels of sgemm::columns() columns, [panel][depth][columns()]; columns beyond the last
/// are zeros.
void pack_b(const float* b, int64_t stride, int64_t columns, int64_t depth, float* to) {
  const sgemm::Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t panel = sgemm::columns();
  for (int64_t j0 = 0; j0 < columns; j0 += panel) {
    const int64_t width = std::min(panel, columns - j0);
    for (int64_t p = 0; p < depth; ++p, to += panel) {
      const float* from = b + p * stride + j0;
      if (width == panel) {
        for (int64_t j = 0; j < panel; j += lanes) hn::Store(hn::LoadU(d, from + j), d, to + j);
      } else {
        std::copy_n(from, width, to);
        std::fill(to + width, to + panel, 0.0F);
      }
    }
  }
}

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
      pack_b(x.b + pc * n + jc, n, columns, depth, b_packed);
      for (int64_t ic = 0; ic < m; ic += kBlockRows) {
        const int64_t rows = std::min(kBlockRows, m - ic);
        pack_a(x.a + ic * k + pc, k, rows, depth, a_packed);
        block(rows, columns, depth, a_packed, b_packed, x.c + ic * n + jc, n, pc > 0);
      }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(multiply);
void run(const Matmul::Args<float>& x) { HWY_DYNAMIC_DISPATCH(multiply)(x); }

// Tiles are 6 rows and, by machine, 8, 16, 32 or 64 columns; then the blocks.
KLAB_VARIANT(Matmul, {.run = run,
                      .parent = "04_cache_tile",
                      .tiles = {6, 8, 16, 32, 64, 96, 384, 4096},
                      .expect = {.shape = {1024, 1024, 1024}, .over_parent = 3}});

}  // namespace
}  // namespace klab
#endif
