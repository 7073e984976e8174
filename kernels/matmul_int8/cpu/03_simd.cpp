// matmul_int8.cpu.03_simd: dot products of 16-bit integers.
//
// CHANGE    every processor of the last twenty years multiplies 16-bit integers and adds neighbors in one instruction. Columns
//           of B are copied so that they lie in order and padded to whole vectors; four of them are multiplied with one row.
// EXPECT    twice the products of a float instruction. A widening for each load, and one sum over lanes for each result: twice
//           the parent.
// NUMERICS  exact sums; a conversion and a product.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/matmul_int8/matmul_int8.h"

KLAB_SIMD_BEGIN();

constexpr int64_t kColumns = 4;

/// Sums of a row and four columns, all of `depth` bytes; depth is a multiple of the lanes.
HWY_INLINE void dot4(const int8_t* HWY_RESTRICT a, const int8_t* HWY_RESTRICT b, int64_t depth, int32_t* to) {
  const hn::CappedTag<int16_t, 32> d;
  const hn::RepartitionToWide<decltype(d)> wide;
  const hn::Rebind<int8_t, decltype(d)> bytes;
  const int64_t lanes = int64_t(hn::Lanes(d));
  auto s0 = hn::Zero(wide), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
  for (int64_t p = 0; p < depth; p += lanes) {
    const auto row = hn::PromoteTo(d, hn::LoadU(bytes, a + p));
    const auto at = [&](int64_t c) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(bytes, b + c * depth + p)); };
    s0 = hn::ReorderWidenMulAccumulate(wide, row, at(0), s0, t0);
    s1 = hn::ReorderWidenMulAccumulate(wide, row, at(1), s1, t1);
    s2 = hn::ReorderWidenMulAccumulate(wide, row, at(2), s2, t2);
    s3 = hn::ReorderWidenMulAccumulate(wide, row, at(3), s3, t3);
  }
  to[0] = hn::GetLane(hn::SumOfLanes(wide, hn::Add(s0, t0)));
  to[1] = hn::GetLane(hn::SumOfLanes(wide, hn::Add(s1, t1)));
  to[2] = hn::GetLane(hn::SumOfLanes(wide, hn::Add(s2, t2)));
  to[3] = hn::GetLane(hn::SumOfLanes(wide, hn::Add(s3, t3)));
}

/// `a` is [m, depth], padded; `b` is for four columns.
void multiply(const MatmulInt8::Args<float>& x, const int8_t* a, int8_t* b, int64_t depth) {
  const auto [m, n, k] = x.shape;
  for (int64_t j = 0; j < n; j += kColumns) {
    const int64_t width = std::min(kColumns, n - j);
    std::fill(b, b + kColumns * depth, int8_t{0});
    for (int64_t p = 0; p < k; ++p)
      for (int64_t s = 0; s < width; ++s) b[s * depth + p] = x.b[p * n + j + s];
    for (int64_t i = 0; i < m; ++i) {
      int32_t sums[kColumns];
      dot4(a + i * depth, b, depth, sums);
      for (int64_t s = 0; s < width; ++s) x.c[i * n + j + s] = float(sums[s]) * x.scale[j + s];
    }
  }
}

KLAB_SIMD_ONCE(multiply);

#if HWY_ONCE
void run(const MatmulInt8::Args<float>& x) {
  constexpr int64_t kLanes = 32, kColumns = 4;  // no vector of 16-bit integers has more
  const auto [m, n, k] = x.shape;
  const int64_t depth = (k + kLanes - 1) / kLanes * kLanes;
  static thread_local Scratch scratch;
  auto* a = reinterpret_cast<int8_t*>(scratch.floats((m + kColumns) * depth / 4));
  for (int64_t i = 0; i < m; ++i) {
    std::copy_n(x.a + i * k, k, a + i * depth);
    std::fill(a + i * depth + k, a + (i + 1) * depth, int8_t{0});
  }
  HWY_DYNAMIC_DISPATCH(multiply)(x, a, a + m * depth, depth);
}

KLAB_VARIANT(MatmulInt8, {.run = run,
                          .parent = "02_loop_order",
                          .tiles = {4, 32},
                          .expect = {.shape = {512, 512, 512}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
