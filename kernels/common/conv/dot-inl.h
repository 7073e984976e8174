// The innermost part of a convolution's weight gradient: scalar products of rows of d_y with shifted rows of the picture.
//
// d_w of an output channel and a tap is Σ_t d_y[t]·x[t + shift] along the joined rows (conv/rows.h). Six output channels and
// four taps are 24 such sums; each keeps one partial sum for each lane, in registers while t runs, in memory between blocks
// of t, and is added up over its lanes once, at the end:
//
//                         x + shift_0   x + shift_1   x + shift_2   x + shift_3      <- a vector of each
//   a vector of d_y_0         s00           s01           s02           s03
//   a vector of d_y_1         s10           ...                                         10 loads for 24 multiply-adds
//
// For a kernel file that is compiled once for each instruction set: include it after hwy/highway.h.
#if defined(KLAB_CONV_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_CONV_DOT_INL_H_
#undef KLAB_CONV_DOT_INL_H_
#else
#define KLAB_CONV_DOT_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab::conv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// With 16 registers two taps: 6·2 sums and 2 + 1 operands.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
inline constexpr int64_t kDotTaps = 2;
#else
inline constexpr int64_t kDotTaps = 4;
#endif
inline constexpr int64_t kDotRows = 6;

using DotTag = hn::ScalableTag<float>;
HWY_INLINE int64_t dot_lanes() { return int64_t(hn::Lanes(DotTag())); }

#define KLAB_DOT_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define KLAB_DOT_LOAD(i)                                                               \
  const float* y##i = d_y + std::min<int64_t>(i, rows - 1) * row_stride;               \
  float* sums##i = sums + std::min<int64_t>(i, rows - 1) * sums_stride;                \
  auto s##i##_0 = hn::LoadU(d, sums##i);                                               \
  [[maybe_unused]] auto s##i##_1 = s##i##_0, s##i##_2 = s##i##_0, s##i##_3 = s##i##_0; \
  if constexpr (kTaps > 1) s##i##_1 = hn::LoadU(d, sums##i + n);                       \
  if constexpr (kTaps > 2) s##i##_2 = hn::LoadU(d, sums##i + 2 * n);                   \
  if constexpr (kTaps > 3) s##i##_3 = hn::LoadU(d, sums##i + 3 * n);
#define KLAB_DOT_STEP(i)                                                \
  {                                                                     \
    const auto y_i = hn::LoadU(d, y##i + t);                            \
    s##i##_0 = hn::MulAdd(y_i, x_0, s##i##_0);                          \
    if constexpr (kTaps > 1) s##i##_1 = hn::MulAdd(y_i, x_1, s##i##_1); \
    if constexpr (kTaps > 2) s##i##_2 = hn::MulAdd(y_i, x_2, s##i##_2); \
    if constexpr (kTaps > 3) s##i##_3 = hn::MulAdd(y_i, x_3, s##i##_3); \
  }
#define KLAB_DOT_STORE(i)                                              \
  if (i < rows) {                                                      \
    hn::StoreU(s##i##_0, d, sums##i);                                  \
    if constexpr (kTaps > 1) hn::StoreU(s##i##_1, d, sums##i + n);     \
    if constexpr (kTaps > 2) hn::StoreU(s##i##_2, d, sums##i + 2 * n); \
    if constexpr (kTaps > 3) hn::StoreU(s##i##_3, d, sums##i + 3 * n); \
  }

/// sums[i][j] += d_y[i·row_stride + t]·x[shifts[j] + t] for t in [0, length), lane by lane; length: whole vectors.
/// rows: at most kDotRows are kept, the others repeat the last. sums: a vector for each tap, rows sums_stride floats apart.
template <int64_t kTaps>
HWY_INLINE void dot_tile(int64_t rows, int64_t length, const float* HWY_RESTRICT d_y, int64_t row_stride,
                         const float* HWY_RESTRICT x, const int64_t* HWY_RESTRICT shifts,
                         float* HWY_RESTRICT sums, int64_t sums_stride) {
  const DotTag d;
  const int64_t n = dot_lanes();
  const float* from_0 = x + shifts[0];
  [[maybe_unused]] const float* from_1 = kTaps > 1 ? x + shifts[1] : from_0;
  [[maybe_unused]] const float* from_2 = kTaps > 2 ? x + shifts[2] : from_0;
  [[maybe_unused]] const float* from_3 = kTaps > 3 ? x + shifts[3] : from_0;
  KLAB_DOT_ROWS(KLAB_DOT_LOAD)
  for (int64_t t = 0; t < length; t += n) {
    const auto x_0 = hn::LoadU(d, from_0 + t);
    [[maybe_unused]] auto x_1 = x_0, x_2 = x_0, x_3 = x_0;
    if constexpr (kTaps > 1) x_1 = hn::LoadU(d, from_1 + t);
    if constexpr (kTaps > 2) x_2 = hn::LoadU(d, from_2 + t);
    if constexpr (kTaps > 3) x_3 = hn::LoadU(d, from_3 + t);
    KLAB_DOT_ROWS(KLAB_DOT_STEP)
  }
  KLAB_DOT_ROWS(KLAB_DOT_STORE)
}

#undef KLAB_DOT_ROWS
#undef KLAB_DOT_LOAD
#undef KLAB_DOT_STEP
#undef KLAB_DOT_STORE

/// dot_tile() for all `taps` taps, kDotTaps at a time.
inline void dots(int64_t rows, int64_t taps, int64_t length, const float* d_y, int64_t row_stride,
                 const float* x, const int64_t* shifts, float* sums, int64_t sums_stride) {
  const int64_t n = dot_lanes();
  int64_t j = 0;
  for (; j + kDotTaps <= taps; j += kDotTaps)
    dot_tile<kDotTaps>(rows, length, d_y, row_stride, x, shifts + j, sums + j * n, sums_stride);
  for (; j < taps; ++j) dot_tile<1>(rows, length, d_y, row_stride, x, shifts + j, sums + j * n, sums_stride);
}

/// The sum over the lanes of a partial sum.
HWY_INLINE float over_lanes(const float* sum) {
  const DotTag d;
  return hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, sum)));
}

}  // namespace HWY_NAMESPACE
}  // namespace klab::conv
HWY_AFTER_NAMESPACE();

#endif  // include guard, once for each instruction set
