// Rows of pictures for the pools: reduced over the rows of a window, and sorted by the stride's remainders.
//
// For a kernel file that is compiled once for each instruction set: include it after hwy/highway.h.
#if defined(KLAB_POOL_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_POOL_ROWS_INL_H_
#undef KLAB_POOL_ROWS_INL_H_
#else
#define KLAB_POOL_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "hwy/highway.h"
#include "reference/pool_fwd/pool_fwd.h"

HWY_BEFORE_NAMESPACE();
namespace klab::pools {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
HWY_INLINE int64_t lanes() { return int64_t(hn::Lanes(Tag())); }
// Floats beyond a row that a whole vector, or one that is sorted while it is loaded, may read.
inline constexpr int64_t kBeyond = 2 * int64_t(hn::MaxLanes(Tag()));

template <bool is_max, class V>
HWY_INLINE V reduced(V a, V b) {
  if constexpr (is_max)
    return hn::Max(a, b);
  else
    return hn::Add(a, b);
}

template <bool is_max>
HWY_INLINE float reduced(float a, float b) {
  return is_max ? (b > a ? b : a) : a + b;
}

/// The rows of a window, `width` numbers each, reduced to one. A last partial vector is moved back so that it
/// is whole.
template <bool is_max>
void reduce_rows(const float* HWY_RESTRICT x, int64_t rows, int64_t width, float* HWY_RESTRICT row) {
  const Tag d;
  const auto vector = [&](int64_t j) {
    auto all = hn::LoadU(d, x + j);
    for (int64_t p = 1; p < rows; ++p) all = reduced<is_max>(all, hn::LoadU(d, x + p * width + j));
    hn::StoreU(all, d, row + j);
  };
  int64_t j = 0;
  for (; j + lanes() <= width; j += lanes()) vector(j);
  if (j > 0 && j < width) return vector(width - lanes());
  for (; j < width; ++j) {
    float all = x[j];
    for (int64_t p = 1; p < rows; ++p) all = reduced<is_max>(all, x[p * width + j]);
    row[j] = all;
  }
}

/// A picture that is one window, `count` numbers, reduced to one.
template <bool is_max>
float reduce_all(const float* x, int64_t count) {
  const Tag d;
  int64_t j = 0;
  float all = is_max ? -std::numeric_limits<float>::infinity() : 0.0F;
  if (count >= lanes()) {
    auto sum = hn::LoadU(d, x);
    for (j = lanes(); j + lanes() <= count; j += lanes()) sum = reduced<is_max>(sum, hn::LoadU(d, x + j));
    all = hn::GetLane(is_max ? hn::MaxOfLanes(d, sum) : hn::SumOfLanes(d, sum));
  }
  for (; j < count; ++j) all = reduced<is_max>(all, x[j]);
  return all;
}

/// Factors of the averages of a row of outputs, or of their gradients, for each number of rows that a window
/// may have in the image.
class Scales {
 public:
  explicit Scales(const PoolShape& s) : s_(s), values_(size_t(s.r + 1)) {}
  const float* of(PoolShape::Range down) {
    std::vector<float>& row = values_[size_t(down.end - down.begin)];
    if (row.empty())
      for (int64_t j = 0; j < s_.ow(); ++j) row.push_back(1 / float(s_.divisor(down, s_.columns(j))));
    return row.data();
  }

 private:
  const PoolShape& s_;
  std::vector<std::vector<float>> values_;
};

/// A row of a picture sorted by the remainders of its padded columns: phase q holds columns q - pad, q + stride - pad, ..., each
/// phase `length` floats.
struct Sorted {
  int64_t stride, pad, w, length;

  explicit Sorted(const PoolShape& s)
      : stride(s.stride_x), pad(s.pad_x), w(s.w), length(s.ow() + (s.s - 1) / s.stride_x + kBeyond) {}
  int64_t floats() const { return stride * length; }
  /// Where tap v of the first output lies.
  int64_t at(int64_t v) const { return v % stride * length + v / stride; }

  /// Sorts the row's columns into their phases; the values around them stay.
  void sort(const float* row, float* to) const {
    if (stride == 1) {  // as it lies
      std::copy_n(row, std::min(w, length - pad), to + pad);
      return;
    }
    if (stride == 2) return sort_pairs(row, to);
    for (int64_t j = 0; j < w; ++j)
      if (const int64_t at = place(j); at >= 0) to[at] = row[j];
  }
  /// Adds the sorted values in `from` to the row.
  void add_back(const float* from, float* row) const {
    if (stride == 1) {
      for (int64_t j = 0; j < std::min(w, length - pad); ++j) row[j] += from[pad + j];
      return;
    }
    if (stride == 2) return add_pairs_back(from, row);
    for (int64_t j = 0; j < w; ++j)
      if (const int64_t at = place(j); at >= 0) row[j] += from[at];
  }

 private:
  /// Where column j lies; -1 where no window reaches it.
  int64_t place(int64_t j) const {
    const int64_t at = (j + pad) / stride;
    return at < length ? (j + pad) % stride * length + at : -1;
  }
  // Pairs of columns (2j, 2j + 1): a load that sorts them, a store for each phase.
  void sort_pairs(const float* row, float* to) const {
    const Tag d;
    float *even = to + pad % 2 * length + pad / 2, *odd = to + (pad + 1) % 2 * length + (pad + 1) / 2;
    int64_t j = 0;
    for (; 2 * (j + lanes()) <= w && j + lanes() + pad <= length; j += lanes()) {
      auto a = hn::Zero(d), b = a;
      hn::LoadInterleaved2(d, row + 2 * j, a, b);
      hn::StoreU(a, d, even + j);
      hn::StoreU(b, d, odd + j);
    }
    for (j *= 2; j < w; ++j)
      if (const int64_t at = place(j); at >= 0) to[at] = row[j];
  }
  void add_pairs_back(const float* from, float* row) const {
    const Tag d;
    const float *even = from + pad % 2 * length + pad / 2,
                *odd = from + (pad + 1) % 2 * length + (pad + 1) / 2;
    int64_t j = 0;
    for (; 2 * (j + lanes()) <= w && j + lanes() + pad <= length; j += lanes()) {
      auto a = hn::Zero(d), b = a;
      hn::LoadInterleaved2(d, row + 2 * j, a, b);
      hn::StoreInterleaved2(hn::Add(a, hn::LoadU(d, even + j)), hn::Add(b, hn::LoadU(d, odd + j)), d,
                            row + 2 * j);
    }
    for (j *= 2; j < w; ++j)
      if (const int64_t at = place(j); at >= 0) row[j] += from[at];
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace klab::pools
HWY_AFTER_NAMESPACE();

#endif  // include guard, once for each instruction set
