// Sums down the columns of a row-major matrix, row after row: for channels without positions (hw = 1), or few. Included by
// kernel files inside Highway's foreach_target, once a target.
//
// Down a column each number lies in another line. So all columns go at once, along the rows, with as many running sums as
// columns, which a first-level cache holds:
//
//   rows    ▬▬▬▬▬▬▬▬▬▬▬▬▬     four rows at a time: their sum is added to the running sums, which are read and written
//           ▬▬▬▬▬▬▬▬▬▬▬▬▬     once for all four
//           ▬▬▬▬▬▬▬▬▬▬▬▬▬
//           ▬▬▬▬▬▬▬▬▬▬▬▬▬
//   sums    ▪▪▪▪▪▪▪▪▪▪▪▪▪
//
// Arrays of sums are padded: they have room for `width` rounded up to a multiple of 16.
#if defined(KLAB_KERNELS_COMMON_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_COLUMNS_INL_H_
#undef KLAB_KERNELS_COMMON_COLUMNS_INL_H_
#else
#define KLAB_KERNELS_COMMON_COLUMNS_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

/// Rounded up to whole lines of floats.
HWY_INLINE int64_t padded(int64_t width) { return (width + 15) / 16 * 16; }

/// sums[k] += sum over `rows` rows of term(r, k, count), where term loads the vector at column k of row r, of which `count`
/// lanes exist and the others must be zero.
template <class D, class Term>
HWY_INLINE void add_rows(D d, int64_t rows, int64_t width, float* HWY_RESTRICT sums, const Term& term) {
  namespace hn = hwy::HWY_NAMESPACE;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
    for (int64_t k = 0; k < width; k += lanes) {
      const size_t count = size_t(std::min(lanes, width - k));
      const auto first = hn::Add(term(r, k, count), term(r + 1, k, count));
      const auto second = hn::Add(term(r + 2, k, count), term(r + 3, k, count));
      hn::StoreU(hn::Add(hn::LoadU(d, sums + k), hn::Add(first, second)), d, sums + k);
    }
  for (; r < rows; ++r)
    for (int64_t k = 0; k < width; k += lanes) {
      const size_t count = size_t(std::min(lanes, width - k));
      hn::StoreU(hn::Add(hn::LoadU(d, sums + k), term(r, k, count)), d, sums + k);
    }
}

/// sums[k] = sum over n rows of x[r·stride + k].
template <class D>
HWY_INLINE void column_sums(D d, const float* x, int64_t n, int64_t stride, int64_t width,
                            float* HWY_RESTRICT sums) {
  std::fill_n(sums, padded(width), 0.0F);
  add_rows(d, n, width, sums, [=](int64_t r, int64_t k, size_t count) HWY_ATTR {
    return load_first(D(), x + r * stride + k, count);
  });
}

/// Mean and sum of squares about it, of each column over n >= 1 rows. Rows go in blocks that stay in a
/// second-level cache: each is read twice, for its own means and for the squares about them, and is merged
/// with the statistics of the rows before it (Chan, Golub and LeVeque 1983). `work` has room for two more
/// arrays of sums.
template <class D>
HWY_INLINE void column_moments(D d, const float* x, int64_t n, int64_t stride, int64_t width,
                               float* HWY_RESTRICT mean, float* HWY_RESTRICT squares,
                               float* HWY_RESTRICT work) {
  namespace hn = hwy::HWY_NAMESPACE;
  const int64_t lanes = int64_t(hn::Lanes(d)), room = padded(width);
  const int64_t block = std::clamp<int64_t>(int64_t{1 << 15} / room, 4, 1024);
  std::fill_n(mean, room, 0.0F);
  std::fill_n(squares, room, 0.0F);
  float *own_mean = work, *own_squares = work + room;
  for (int64_t r = 0; r < n; r += block) {
    const int64_t rows = std::min(block, n - r);
    const float* p = x + r * stride;
    column_sums(d, p, rows, stride, width, own_mean);
    for (int64_t k = 0; k < room; ++k) own_mean[k] /= float(rows);
    std::fill_n(own_squares, room, 0.0F);
    add_rows(d, rows, width, own_squares, [=](int64_t i, int64_t k, size_t count) HWY_ATTR {
      const auto deviation =
          hn::Sub(load_first(D(), p + i * stride + k, count), hn::LoadU(D(), own_mean + k));
      return hn::Mul(deviation, deviation);  // the mean of a column that does not exist is 0
    });
    const auto share = hn::Set(d, float(rows) / float(r + rows)), before = hn::Set(d, float(r));
    for (int64_t k = 0; k < room; k += lanes) {
      const auto known = hn::LoadU(d, mean + k), apart = hn::Sub(hn::LoadU(d, own_mean + k), known);
      const auto between = hn::Mul(hn::Mul(apart, apart), hn::Mul(before, share));
      hn::StoreU(hn::MulAdd(apart, share, known), d, mean + k);
      hn::StoreU(hn::Add(hn::LoadU(d, squares + k), hn::Add(hn::LoadU(d, own_squares + k), between)), d,
                 squares + k);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
