// Packing for a fast matrix product: blocks of a matrix copied into the order in which sgemm::tile reads
// them.
//
// A panel holds `width` rows of A or columns of B. Its floats lie depth by depth: [panel][depth][width]. For
// either memory layout, one of two copies makes panels of it:
//
//   the panel runs along k across rows:          the panel runs along k down the columns:
//   copy_panels (B, or A transposed)             transpose_panels (A, or B transposed)
//
//        width                                        depth ->
//       +-----+-----+                                +-----------------+
//     d | 0 1 | . . |      to: 0 1 2 3 4 5 ...     w | 0  2  4  6  8   |   to: 0 1 2 3 4 5 ...
//     e | 2 3 | . . |                              i | 1  3  5  7  9   |
//     p | 4 5 | . . |                              d +-----------------+
//     t |  .  |     |                              t | .  .  .         |
//     h +-----+-----+                              h +-----------------+
//
// For a kernel file that is compiled once for each instruction set: include it after hwy/highway.h.
#if defined(KLAB_SGEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_SGEMM_PACK_INL_H_
#undef KLAB_SGEMM_PACK_INL_H_
#else
#define KLAB_SGEMM_PACK_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab::sgemm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// `size` rounded up to whole panels.
inline int64_t whole(int64_t size, int64_t width) { return (size + width - 1) / width * width; }

/// from[depth,size], rows `stride` floats apart -> to[whole(size, width)/width, depth, width], padded with
/// zeros.
inline void copy_panels(const float* from, int64_t stride, int64_t size, int64_t depth, int64_t width,
                        float* to) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t j0 = 0; j0 < size; j0 += width) {
    const int64_t used = std::min(width, size - j0);
    for (int64_t p = 0; p < depth; ++p, to += width) {
      const float* row = from + p * stride + j0;
      int64_t j = 0;
      for (; j + lanes <= used; j += lanes) hn::StoreU(hn::LoadU(d, row + j), d, to + j);
      for (; j < used; ++j) to[j] = row[j];
      for (; j < width; ++j) to[j] = 0.0F;
    }
  }
}

#if HWY_TARGET != HWY_SCALAR

/// Four columns of six rows: pairs of rows are interleaved, then halves of pairs put in order.
HWY_INLINE void transpose_6x4(const float* from, int64_t stride, float* to) {
  const hn::FixedTag<float, 4> d;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + stride);
  const auto r2 = hn::LoadU(d, from + 2 * stride), r3 = hn::LoadU(d, from + 3 * stride);
  const auto r4 = hn::LoadU(d, from + 4 * stride), r5 = hn::LoadU(d, from + 5 * stride);
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

/// Four columns of four rows; the rows of the result lie `width` floats apart.
HWY_INLINE void transpose_4x4(const float* from, int64_t stride, int64_t width, float* to) {
  const hn::FixedTag<float, 4> d;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + stride);
  const auto r2 = hn::LoadU(d, from + 2 * stride), r3 = hn::LoadU(d, from + 3 * stride);
  const auto low01 = hn::InterleaveLower(d, r0, r1), high01 = hn::InterleaveUpper(d, r0, r1);
  const auto low23 = hn::InterleaveLower(d, r2, r3), high23 = hn::InterleaveUpper(d, r2, r3);
  hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, to);
  hn::StoreU(hn::ConcatUpperUpper(d, low23, low01), d, to + width);
  hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, to + 2 * width);
  hn::StoreU(hn::ConcatUpperUpper(d, high23, high01), d, to + 3 * width);
}

/// The first columns of one panel of `used` rows, four at a time. Returns how many columns that was.
inline int64_t transpose_fours(const float* from, int64_t stride, int64_t used, int64_t depth, int64_t width,
                               float* to) {
  const int64_t fours = depth / 4 * 4;
  if (used == width && width == 6) {
    for (int64_t p = 0; p < fours; p += 4) transpose_6x4(from + p, stride, to + p * width);
    return fours;
  }
  if (used % 4 != 0 || used != width) return 0;
  for (int64_t p = 0; p < fours; p += 4)
    for (int64_t i = 0; i < width; i += 4)
      transpose_4x4(from + i * stride + p, stride, width, to + p * width + i);
  return fours;
}

#else

inline int64_t transpose_fours(const float*, int64_t, int64_t, int64_t, int64_t, float*) { return 0; }

#endif

/// from[size,depth], rows `stride` floats apart -> to[whole(size, width)/width, depth, width], padded with
/// zeros.
inline void transpose_panels(const float* from, int64_t stride, int64_t size, int64_t depth, int64_t width,
                             float* to) {
  for (int64_t i0 = 0; i0 < size; i0 += width, from += width * stride, to += width * depth) {
    const int64_t used = std::min(width, size - i0);
    for (int64_t p = transpose_fours(from, stride, used, depth, width, to); p < depth; ++p)
      for (int64_t i = 0; i < width; ++i) to[p * width + i] = i < used ? from[i * stride + p] : 0.0F;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace klab::sgemm
HWY_AFTER_NAMESPACE();

#endif  // include guard, once for each instruction set
