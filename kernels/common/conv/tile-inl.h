// The innermost part of a direct convolution: outputs of a few channels at neighboring pixels, held in
// registers while the taps of all input channels run.
//
//              row, shifted by the p-th tap:  . . . . . . . . . . . . . . . .   <- kWide vector loads, any alignment
//   weights of tap p,             . +--------+--------+--------+-----+
//   one for each output channel   . |  c00   |  c01   |  c02   | c03 |
//                                 . |  c10   |  ...                  |   kHeight × kWide accumulators
//                                 . +--------+--------+--------+-----+
//
// It is the tile of a matrix product (kernels/common/sgemm_tile-inl.h) whose second factor is never stored:
// its p-th row is the picture itself, from another offset.
//
// For a kernel file that is compiled once for each instruction set: include it after hwy/highway.h.
#if defined(KLAB_CONV_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_CONV_TILE_INL_H_
#undef KLAB_CONV_TILE_INL_H_
#else
#define KLAB_CONV_TILE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab::conv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 6·4 accumulators, 4 vectors of the picture and a weight fill 29 of 32 registers; 6·2 + 2 + 1 = 15 of 16.
inline constexpr int64_t kRows = 6;
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
inline constexpr int64_t kVectors = 2;
#else
inline constexpr int64_t kVectors = 4;
#endif

using Tag = hn::ScalableTag<float>;
HWY_INLINE int64_t lanes() { return int64_t(hn::Lanes(Tag())); }
inline constexpr int64_t kMaxColumns = kVectors * int64_t(hn::MaxLanes(Tag()));

// The accumulators have names, not indices, as in sgemm_tile-inl.h.
#define KLAB_CONV_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define KLAB_CONV_BEGIN(i)                                                                      \
  [[maybe_unused]] auto c##i##_0 = hn::Zero(d), c##i##_1 = hn::Zero(d), c##i##_2 = hn::Zero(d), \
                        c##i##_3 = hn::Zero(d);                                                 \
  if constexpr (i < kHeight) c##i##_0 = c##i##_1 = c##i##_2 = c##i##_3 = hn::Set(d, bias[i]);
#define KLAB_CONV_STEP(i)                                               \
  if constexpr (i < kHeight) {                                          \
    const auto w_i = hn::Set(d, weights[i]);                            \
    c##i##_0 = hn::MulAdd(w_i, x_0, c##i##_0);                          \
    if constexpr (kWide > 1) c##i##_1 = hn::MulAdd(w_i, x_1, c##i##_1); \
    if constexpr (kWide > 2) c##i##_2 = hn::MulAdd(w_i, x_2, c##i##_2); \
    if constexpr (kWide > 3) c##i##_3 = hn::MulAdd(w_i, x_3, c##i##_3); \
  }
#define KLAB_CONV_STORE(i)                                        \
  if constexpr (i < kHeight) {                                    \
    float* row = out + i * kMaxColumns;                           \
    hn::Store(c##i##_0, d, row);                                  \
    if constexpr (kWide > 1) hn::Store(c##i##_1, d, row + n);     \
    if constexpr (kWide > 2) hn::Store(c##i##_2, d, row + 2 * n); \
    if constexpr (kWide > 3) hn::Store(c##i##_3, d, row + 3 * n); \
  }

/// out[kHeight, kWide·lanes()] = bias + Σ_p weights[p]·x[shifts[p] + ...]
///   weights [depth, kHeight]  packed        shifts [depth]        bias [kHeight]
///   x                         read from every shift on, kWide·lanes() floats
///   out [kHeight, kMaxColumns] aligned to a vector
template <int64_t kHeight, int64_t kWide>
HWY_INLINE void tap_tile(int64_t depth, const float* HWY_RESTRICT weights, const int64_t* HWY_RESTRICT shifts,
                         const float* HWY_RESTRICT x, const float* HWY_RESTRICT bias,
                         float* HWY_RESTRICT out) {
  const Tag d;
  const int64_t n = lanes();
  KLAB_CONV_ROWS(KLAB_CONV_BEGIN)
#pragma GCC unroll 4
  for (int64_t p = 0; p < depth; ++p, weights += kHeight) {
    const float* row = x + shifts[p];
    const auto x_0 = hn::LoadU(d, row);
    [[maybe_unused]] auto x_1 = hn::Zero(d), x_2 = hn::Zero(d), x_3 = hn::Zero(d);
    if constexpr (kWide > 1) x_1 = hn::LoadU(d, row + n);
    if constexpr (kWide > 2) x_2 = hn::LoadU(d, row + 2 * n);
    if constexpr (kWide > 3) x_3 = hn::LoadU(d, row + 3 * n);
    KLAB_CONV_ROWS(KLAB_CONV_STEP)
  }
  KLAB_CONV_ROWS(KLAB_CONV_STORE)
}

#undef KLAB_CONV_ROWS
#undef KLAB_CONV_BEGIN
#undef KLAB_CONV_STEP
#undef KLAB_CONV_STORE

template <int64_t kHeight>
void tile_of_height(int64_t wide, int64_t depth, const float* weights, const int64_t* shifts, const float* x,
                    const float* bias, float* out) {
  if constexpr (kVectors > 3)
    if (wide == 4) return tap_tile<kHeight, 4>(depth, weights, shifts, x, bias, out);
  if constexpr (kVectors > 2)
    if (wide == 3) return tap_tile<kHeight, 3>(depth, weights, shifts, x, bias, out);
  if (wide == 2) return tap_tile<kHeight, 2>(depth, weights, shifts, x, bias, out);
  tap_tile<kHeight, 1>(depth, weights, shifts, x, bias, out);
}

/// The tile of `height` channels, at most kRows, and `wide` vectors, at most kVectors.
inline void tile(int64_t height, int64_t wide, int64_t depth, const float* weights, const int64_t* shifts,
                 const float* x, const float* bias, float* out) {
  switch (height) {
    case 1:
      return tile_of_height<1>(wide, depth, weights, shifts, x, bias, out);
    case 2:
      return tile_of_height<2>(wide, depth, weights, shifts, x, bias, out);
    case 3:
      return tile_of_height<3>(wide, depth, weights, shifts, x, bias, out);
    case 4:
      return tile_of_height<4>(wide, depth, weights, shifts, x, bias, out);
    case 5:
      return tile_of_height<5>(wide, depth, weights, shifts, x, bias, out);
    default:
      return tile_of_height<kRows>(wide, depth, weights, shifts, x, bias, out);
  }
}

/// `count` floats. Whole vectors as long as they stay below `end`; the excess is overwritten later.
HWY_INLINE void copy_over(const float* from, int64_t count, float* to, const float* end) {
  const Tag d;
  int64_t j = 0;
  for (; j < count && to + j + lanes() <= end; j += lanes()) hn::StoreU(hn::LoadU(d, from + j), d, to + j);
  for (; j < count; ++j) to[j] = from[j];
}

}  // namespace HWY_NAMESPACE
}  // namespace klab::conv
HWY_AFTER_NAMESPACE();

#endif  // include guard, once for each instruction set
