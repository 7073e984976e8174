// The innermost part of a fast matrix product: a small tile of C, held in registers while k runs.
//
// For a kernel file that is compiled once for each instruction set (see Highway's foreach_target.h): include
// it after hwy/highway.h. All names are in klab::sgemm::HWY_NAMESPACE.
//
//                 B panel: depth rows of `columns()` floats, one after the other
//                    . . . . . . . . . . . . . . . .    <- p-th row: kVectors vector loads
//   A panel:       +--------+--------+--------+-----+
//   depth groups . |  c00   |  c01   |  c02   | c03 |
//   of kRows     . |  c10   |  c11   |  ...         |   kRows × kVectors accumulators, each its own register
//   floats       . |  ...                           |
//     ^          . |  c50   |                       |
//   p-th group     +--------+--------+--------+-----+
//
// One step p: kVectors loads, kRows broadcasts, kRows·kVectors fused multiply-adds that wait for none of each
// other.
#if defined(KLAB_SGEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_SGEMM_TILE_INL_H_
#undef KLAB_SGEMM_TILE_INL_H_
#else
#define KLAB_SGEMM_TILE_INL_H_
#endif

#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab::sgemm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators, one row of B and one broadcast must fit into the register file: 6·4 + 4 + 1 = 29 of 32
// registers (AVX-512, NEON, SVE), 6·2 + 2 + 1 = 15 of the 16 that SSE and AVX2 have.
inline constexpr int64_t kRows = 6;
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
inline constexpr int64_t kVectors = 2;
#else
inline constexpr int64_t kVectors = 4;
#endif

using Tag = hn::ScalableTag<float>;
inline constexpr int64_t kMaxColumns = kVectors * int64_t(hn::MaxLanes(Tag()));

/// Columns of a tile; at most kMaxColumns.
HWY_INLINE int64_t columns() { return kVectors * int64_t(hn::Lanes(Tag())); }

// The accumulators have names, not indices: vectors of a length known only at run time cannot be array
// elements, and compilers may leave an array of accumulators in memory.
#define KLAB_TILE_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define KLAB_TILE_ZERO(i)                                                                       \
  [[maybe_unused]] auto c##i##_0 = hn::Zero(d), c##i##_1 = hn::Zero(d), c##i##_2 = hn::Zero(d), \
                        c##i##_3 = hn::Zero(d);
#define KLAB_TILE_STEP(i)                                                  \
  if constexpr (i < kHeight) {                                             \
    const auto a_i = hn::Set(d, a[i]);                                     \
    c##i##_0 = hn::MulAdd(a_i, b_0, c##i##_0);                             \
    c##i##_1 = hn::MulAdd(a_i, b_1, c##i##_1);                             \
    if constexpr (kVectors > 2) c##i##_2 = hn::MulAdd(a_i, b_2, c##i##_2); \
    if constexpr (kVectors > 3) c##i##_3 = hn::MulAdd(a_i, b_3, c##i##_3); \
  }
#define KLAB_TILE_PREFETCH(i)                                                             \
  if constexpr (i < kHeight) {                                                            \
    for (int64_t j = 0; j < kVectors * lanes; j += 16) hwy::Prefetch(c + i * stride + j); \
    hwy::Prefetch(c + i * stride + kVectors * lanes - 1);                                 \
  }
#define KLAB_TILE_STORE(i)                                                                     \
  if constexpr (i < kHeight) {                                                                 \
    float* row = c + i * stride;                                                               \
    if (add) {                                                                                 \
      c##i##_0 = hn::Add(c##i##_0, hn::LoadU(d, row));                                         \
      c##i##_1 = hn::Add(c##i##_1, hn::LoadU(d, row + lanes));                                 \
      if constexpr (kVectors > 2) c##i##_2 = hn::Add(c##i##_2, hn::LoadU(d, row + 2 * lanes)); \
      if constexpr (kVectors > 3) c##i##_3 = hn::Add(c##i##_3, hn::LoadU(d, row + 3 * lanes)); \
    }                                                                                          \
    hn::StoreU(c##i##_0, d, row);                                                              \
    hn::StoreU(c##i##_1, d, row + lanes);                                                      \
    if constexpr (kVectors > 2) hn::StoreU(c##i##_2, d, row + 2 * lanes);                      \
    if constexpr (kVectors > 3) hn::StoreU(c##i##_3, d, row + 3 * lanes);                      \
  }

/// C[kHeight, columns()] = A·B, or += with `add`.
///   a  [depth, kHeight]    packed
///   b  [depth, columns()]  rows `b_stride` floats apart, any alignment
///   c  [kHeight, columns()] rows `stride` floats apart, any alignment
/// kAhead: how many rows of B ahead are prefetched; 0 leaves it to the hardware, which follows packed panels.
template <int64_t kHeight, int64_t kAhead>
HWY_INLINE void strided_tile(int64_t depth, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                             int64_t b_stride, float* HWY_RESTRICT c, int64_t stride, bool add) {
  static_assert(kHeight <= kRows);
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  KLAB_TILE_ROWS(KLAB_TILE_PREFETCH)  // C is needed when the loop is over: prefetch it now
  KLAB_TILE_ROWS(KLAB_TILE_ZERO)
#pragma GCC unroll 4
  for (int64_t p = 0; p < depth; ++p) {
    if constexpr (kAhead > 0)
      for (int64_t j = 0; j < kVectors * lanes; j += 16) hwy::Prefetch(b + kAhead * b_stride + j);
    const auto b_0 = hn::LoadU(d, b);
    const auto b_1 = hn::LoadU(d, b + lanes);
    [[maybe_unused]] auto b_2 = hn::Zero(d), b_3 = hn::Zero(d);
    if constexpr (kVectors > 2) b_2 = hn::LoadU(d, b + 2 * lanes);
    if constexpr (kVectors > 3) b_3 = hn::LoadU(d, b + 3 * lanes);
    KLAB_TILE_ROWS(KLAB_TILE_STEP)
    a += kHeight;
    b += b_stride;
  }
  KLAB_TILE_ROWS(KLAB_TILE_STORE)
}

/// C[kRows, columns()] = or += A·B of packed panels: a [depth, kRows], b [depth, columns()].
HWY_INLINE void tile(int64_t depth, const float* a, const float* b, float* c, int64_t stride, bool add) {
  strided_tile<kRows, 0>(depth, a, b, columns(), c, stride, add);
}

/// The same for a tile of which only height × width lie inside C; the panels are padded with zeros.
inline void edge_tile(int64_t height, int64_t width, int64_t depth, const float* a, const float* b, float* c,
                      int64_t stride, bool add) {
  HWY_ALIGN float whole[kRows * kMaxColumns];
  tile(depth, a, b, whole, columns(), false);
  for (int64_t i = 0; i < height; ++i)
    for (int64_t j = 0; j < width; ++j) {
      const float sum = whole[i * columns() + j];
      c[i * stride + j] = add ? c[i * stride + j] + sum : sum;
    }
}

#undef KLAB_TILE_ROWS
#undef KLAB_TILE_ZERO
#undef KLAB_TILE_STEP
#undef KLAB_TILE_PREFETCH
#undef KLAB_TILE_STORE

}  // namespace HWY_NAMESPACE
}  // namespace klab::sgemm
HWY_AFTER_NAMESPACE();

#endif  // include guard, once for each instruction set
