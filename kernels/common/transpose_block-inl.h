// A small matrix transposed in vector registers, for any vector length.
//
// Shared by the transpose and compact ladders. Included once per instruction set, after hwy/highway.h.
//
// The trick is in how the rows are loaded. A vector of L lanes is L/4 groups of four. Group g of vector r is
// taken from row 4g + r, so that after four such loads every group holds its own 4x4 block:
//
//       vector 0   | a00 a01 a02 a03 | a40 a41 a42 a43 | a80 ...        rows 0, 4, 8, 12
//       vector 1   | a10 a11 a12 a13 | a50 a51 a52 a53 | ...            rows 1, 5, 9, 13
//       vector 2   | a20 a21 a22 a23 | a60 a61 a62 a63 |
//       vector 3   | a30 a31 a32 a33 | a70 a71 a72 a73 |
//
// Transposing the four 4x4 blocks side by side takes eight shuffles that never cross a group of four, and
// vector c then is column c of L rows in order:
//
//       vector 0   | a00 a10 a20 a30 | a40 a50 a60 a70 | a80 ...  = L consecutive elements of output row 0
#if defined(KLAB_KERNELS_COMMON_TRANSPOSE_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_TRANSPOSE_BLOCK_INL_H_
#undef KLAB_KERNELS_COMMON_TRANSPOSE_BLOCK_INL_H_
#else
#define KLAB_KERNELS_COMMON_TRANSPOSE_BLOCK_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

/// Rows that one vector covers: 1 (no vectors), 4, 8 or 16. Where the vector length is only known when the
/// program runs, every machine has four lanes.
#if HWY_TARGET == HWY_SCALAR
constexpr int64_t kBlockRows = 1;
#elif HWY_HAVE_SCALABLE
constexpr int64_t kBlockRows = 4;
#else
constexpr int64_t kBlockRows = HWY_LANES(float) < 16 ? HWY_LANES(float) : 16;
#endif

/// How a finished vector reaches memory.
struct PlainStore {
  template <class D, class V>
  HWY_INLINE void operator()(V v, D d, float* to) const {
    hwy::HWY_NAMESPACE::StoreU(v, d, to);
  }
};

/// Around the caches; `to` must be aligned to the vector.
struct StreamStore {
  template <class D, class V>
  HWY_INLINE void operator()(V v, D d, float* to) const {
    hwy::HWY_NAMESPACE::Stream(v, d, to);
  }
};

#if HWY_TARGET != HWY_SCALAR

/// Four floats of row 0, four of row 4, four of row 8, ... of a matrix with leading dimension `ld`.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_every_fourth_row(D d, const float* in, int64_t ld) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr int64_t lanes = int64_t(hn::MaxLanes(D()));
  if constexpr (lanes == 4) {
    return hn::LoadU(d, in);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_every_fourth_row(half, in + lanes / 2 * ld, ld),
                       load_every_fourth_row(half, in, ld));
  }
}

/// out[c, 0..kRows) = in[0..kRows, c] for four columns c; `ld_in`, `ld_out` in elements.
template <int64_t kRows, class Store>
HWY_INLINE void transpose_four_columns(const float* in, int64_t ld_in, float* out, int64_t ld_out,
                                       Store store) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::FixedTag<float, size_t(kRows)> d;
  const hn::Repartition<uint64_t, decltype(d)> pairs;
  const auto r0 = load_every_fourth_row(d, in, ld_in);
  const auto r1 = load_every_fourth_row(d, in + ld_in, ld_in);
  const auto r2 = load_every_fourth_row(d, in + 2 * ld_in, ld_in);
  const auto r3 = load_every_fourth_row(d, in + 3 * ld_in, ld_in);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));   // a00 a10 a01 a11
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));  // a02 a12 a03 a13
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));   // a20 a30 a21 a31
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));  // a22 a32 a23 a33
  store(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, out);
  store(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, out + ld_out);
  store(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, out + 2 * ld_out);
  store(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, out + 3 * ld_out);
}

#else

template <int64_t kRows, class Store>
HWY_INLINE void transpose_four_columns(const float* in, int64_t ld_in, float* out, int64_t ld_out, Store) {
  for (int64_t j = 0; j < 4; ++j)
    for (int64_t i = 0; i < kRows; ++i) out[j * ld_out + i] = in[i * ld_in + j];
}

#endif  // HWY_TARGET != HWY_SCALAR

/// out[j, 0..kRows) = in[0..kRows, j] for `cols` columns, four at a time and the rest one by one.
template <int64_t kRows>
HWY_INLINE void transpose_strip(const float* in, int64_t ld_in, float* out, int64_t ld_out, int64_t cols) {
  int64_t j = 0;
  if constexpr (kRows >= 4)
    for (; j + 4 <= cols; j += 4)
      transpose_four_columns<kRows>(in + j, ld_in, out + j * ld_out, ld_out, PlainStore());
  for (; j < cols; ++j)
    for (int64_t i = 0; i < kRows; ++i) out[j * ld_out + i] = in[i * ld_in + j];
}

/// out[j, i] = in[i, j] for a block of any size; `ld_in`, `ld_out` in elements. Meant for blocks that fit in
/// L1.
HWY_INLINE void transpose_block(const float* in, int64_t ld_in, float* out, int64_t ld_out, int64_t rows,
                                int64_t cols) {
  int64_t i = 0;
  for (; i + kBlockRows <= rows; i += kBlockRows)
    transpose_strip<kBlockRows>(in + i * ld_in, ld_in, out + i, ld_out, cols);
  if constexpr (kBlockRows > 4)
    for (; i + 4 <= rows; i += 4) transpose_strip<4>(in + i * ld_in, ld_in, out + i, ld_out, cols);
  for (; i < rows; ++i) transpose_strip<1>(in + i * ld_in, ld_in, out + i, ld_out, cols);
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif  // include guard, once per target
