// pool_fwd.cpu.03_simd: lanes for rows, and a deinterleaving load for the stride.
//
// CHANGE    both passes in the widest vectors there are. Every second pixel of a row, which is what a stride of 2 wants, comes by
//           a load that sorts even from odd; the row has a border of what does not count, so that no window asks where it is.
// EXPECT    a row is read once, reduced in L1 and written once: what the compiler could not make of the strided pass. At least
//           1.5 times.
// NUMERICS  as the parent.
// NEEDS     as the parent. Strides beyond 2 take their columns one by one.
// TRIED     -
#include <algorithm>
#include <limits>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "reference/pool_fwd/pool_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool_fwd/cpu/03_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
HWY_INLINE int64_t lanes() { return int64_t(hn::Lanes(Tag())); }
constexpr int64_t kBeyond =
    2 * int64_t(hn::MaxLanes(Tag()));  // a deinterleaving load may read so much too much

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

/// The rows of a window, `width` numbers each, reduced to one.
template <bool is_max>
void reduce_rows(const float* HWY_RESTRICT x, int64_t rows, int64_t width, float* HWY_RESTRICT row) {
  const Tag d;
  int64_t j = 0;
  for (; j + lanes() <= width; j += lanes()) {
    auto all = hn::LoadU(d, x + j);
    for (int64_t p = 1; p < rows; ++p) all = reduced<is_max>(all, hn::LoadU(d, x + p * width + j));
    hn::StoreU(all, d, row + j);
  }
  for (; j < width; ++j) {
    float all = x[j];
    for (int64_t p = 1; p < rows; ++p) all = reduced<is_max>(all, x[p * width + j]);
    row[j] = all;
  }
}

/// y[j] = row[j·stride .. j·stride + s) reduced, times scale[j] where it is an average. The row has what does not count on
/// both sides, and kBeyond numbers more.
template <bool is_max>
void reduce_columns(const PoolShape& s, const float* HWY_RESTRICT row, const float* HWY_RESTRICT scale,
                    float* HWY_RESTRICT y) {
  const Tag d;
  const int64_t ow = s.ow();
  int64_t j = 0;
  if (s.stride_x == 1) {
    for (; j + lanes() <= ow; j += lanes()) {
      auto all = hn::LoadU(d, row + j);
      for (int64_t v = 1; v < s.s; ++v) all = reduced<is_max>(all, hn::LoadU(d, row + j + v));
      hn::StoreU(is_max ? all : hn::Mul(all, hn::LoadU(d, scale + j)), d, y + j);
    }
  } else if (s.stride_x == 2) {
    for (; j + lanes() <= ow; j += lanes()) {
      auto all = hn::Zero(d), odd = all;
      hn::LoadInterleaved2(d, row + 2 * j, all, odd);
      if (s.s > 1) all = reduced<is_max>(all, odd);
      for (int64_t v = 2; v < s.s; v += 2) {
        auto even = all;
        hn::LoadInterleaved2(d, row + 2 * j + v, even, odd);
        all = reduced<is_max>(all, even);
        if (v + 1 < s.s) all = reduced<is_max>(all, odd);
      }
      hn::StoreU(is_max ? all : hn::Mul(all, hn::LoadU(d, scale + j)), d, y + j);
    }
  }
  for (; j < ow; ++j) {
    float all = row[j * s.stride_x];
    for (int64_t v = 1; v < s.s; ++v) all = reduced<is_max>(all, row[j * s.stride_x + v]);
    y[j] = is_max ? all : all * scale[j];
  }
}

/// The same for pixels of `size` channels that lie together; the row has no border.
template <bool is_max>
void reduce_pixels(const PoolShape& s, int64_t size, const float* HWY_RESTRICT row,
                   const float* HWY_RESTRICT scale, float* HWY_RESTRICT y) {
  const Tag d;
  for (int64_t j = 0; j < s.ow(); ++j, y += size) {
    const PoolShape::Range across = s.columns(j);
    const float* from = row + across.begin * size;
    const int64_t pixels = across.end - across.begin;
    int64_t k = 0;
    for (; k + lanes() <= size; k += lanes()) {
      auto all = hn::LoadU(d, from + k);
      for (int64_t q = 1; q < pixels; ++q) all = reduced<is_max>(all, hn::LoadU(d, from + q * size + k));
      hn::StoreU(is_max ? all : hn::Mul(all, hn::Set(d, scale[j])), d, y + k);
    }
    for (; k < size; ++k) {
      float all = from[k];
      for (int64_t q = 1; q < pixels; ++q) all = reduced<is_max>(all, from[q * size + k]);
      y[k] = is_max ? all : all * scale[j];
    }
  }
}

/// Output rows [begin, end) of all pictures, counted through. A picture has pixels of `size` numbers.
template <bool is_max>
void output_rows(const PoolFwd::Args<float>& x, int64_t size, int64_t begin, int64_t end) {
  static thread_local Scratch row_scratch, scale_scratch;
  const PoolShape& s = x.shape;
  const int64_t width = s.w * size, border = size > 1 ? 0 : s.pad_x, oh = s.oh(), ow = s.ow();
  float* row = row_scratch.floats(width + 2 * border + s.s + kBeyond);
  float* scale = scale_scratch.floats(ow);
  std::fill_n(row, width + 2 * border + s.s + kBeyond,
              is_max ? -std::numeric_limits<float>::infinity() : 0.0F);
  int64_t scaled_for = -1;  // rows of the window that `scale` holds for
  for (int64_t i = begin; i < end; ++i) {
    const PoolShape::Range down = s.rows(i % oh);
    const int64_t rows = down.end - down.begin;
    if (!is_max && scaled_for != rows)
      for (int64_t j = 0; j < ow; ++j) scale[j] = 1 / float(s.divisor(down, s.columns(j)));
    scaled_for = rows;
    reduce_rows<is_max>(x.x + (i / oh * s.h + down.begin) * width, rows, width, row + border);
    if (size > 1)
      reduce_pixels<is_max>(s, size, row, scale, x.y + i * ow * size);
    else
      reduce_columns<is_max>(s, row, scale, x.y + i * ow);
  }
}

void pool(const PoolFwd::Args<float>& x) {
  const PoolShape& s = x.shape;
  if (s.n * s.c == 0) return;
  const int64_t size = s.nhwc != 0 ? s.c : 1, total = s.n * s.c / size * s.oh();
  if (s.is_max())
    output_rows<true>(x, size, 0, total);
  else
    output_rows<false>(x, size, 0, total);
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(pool);
void run(const PoolFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(pool)(x); }

KLAB_VARIANT(PoolFwd, {.run = run,
                       .parent = "02_separable",
                       .tiles = {8, 16, 32},
                       .expect = {.shape = {1, 64, 112, 112, 2, 2, 2, 2, 0, 0, 0, 0}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
