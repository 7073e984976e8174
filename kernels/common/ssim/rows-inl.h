// Rows of structural similarity on vectors: windows along columns into padded rows, then along these. Included by kernel
// files inside Highway's foreach_target, once a target.
#if defined(KLAB_KERNELS_COMMON_SSIM_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_SSIM_ROWS_INL_H_
#undef KLAB_KERNELS_COMMON_SSIM_ROWS_INL_H_
#else
#define KLAB_KERNELS_COMMON_SSIM_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

using SsimTag = hwy::HWY_NAMESPACE::CappedTag<float, 16>;
using SsimVec = hwy::HWY_NAMESPACE::Vec<SsimTag>;

/// Sums along columns: a row of `width` values between zeros, as far as vectors of 16 that begin below `width` reach with
/// five neighbors.
class PaddedRow {
 public:
  explicit PaddedRow(int64_t width) : values_(size_t(width + 2 * SsimLossFwd::radius + 16)) {}
  float* at(int64_t column) { return values_.data() + column + SsimLossFwd::radius; }

  /// The window along the row at columns j, j+1, ...: five pairs of neighbors share a tap.
  HWY_INLINE SsimVec across(int64_t j) {
    namespace hn = hwy::HWY_NAMESPACE;
    const SsimTag d;
    const float* p = at(j);
    SsimVec sum = hn::Mul(hn::Set(d, SsimLossFwd::window[0]), hn::LoadU(d, p));
    for (int i = 1; i <= SsimLossFwd::radius; ++i)
      sum = hn::MulAdd(hn::Set(d, SsimLossFwd::window[i]), hn::Add(hn::LoadU(d, p - i), hn::LoadU(d, p + i)),
                       sum);
    return sum;
  }

 private:
  std::vector<float> values_;
};

/// E[x], E[y], E[x^2], E[y^2], E[xy] along columns around a row. x, y: [height,width].
HWY_INLINE void ssim_down(const SsimLossFwd::Shape& s, const float* x, const float* y, int64_t row,
                          PaddedRow* sums) {
  namespace hn = hwy::HWY_NAMESPACE;
  const SsimTag d;
  constexpr int64_t r = SsimLossFwd::radius;
  const int64_t from = std::max(-r, -row), to = std::min(r, s.height - 1 - row);
  for (int64_t j = 0; j < s.width; j += int64_t(hn::Lanes(d))) {
    const size_t count = size_t(std::min<int64_t>(int64_t(hn::Lanes(d)), s.width - j));
    SsimVec mx = hn::Zero(d), my = mx, xx = mx, yy = mx, xy = mx;
    for (int64_t i = from; i <= to; ++i) {
      const SsimVec a = load_first(d, x + (row + i) * s.width + j, count);
      const SsimVec b = load_first(d, y + (row + i) * s.width + j, count);
      const SsimVec w = hn::Set(d, SsimLossFwd::window[std::abs(i)]), wa = hn::Mul(w, a), wb = hn::Mul(w, b);
      mx = hn::Add(mx, wa), my = hn::Add(my, wb);
      xx = hn::MulAdd(wa, a, xx), yy = hn::MulAdd(wb, b, yy), xy = hn::MulAdd(wa, b, xy);
    }
    store_first(mx, d, sums[0].at(j), count), store_first(my, d, sums[1].at(j), count);
    store_first(xx, d, sums[2].at(j), count), store_first(yy, d, sums[3].at(j), count);
    store_first(xy, d, sums[4].at(j), count);
  }
}

/// One map along columns around a row.
HWY_INLINE void ssim_down_one(const SsimLossFwd::Shape& s, const float* map, int64_t row, PaddedRow& sum) {
  namespace hn = hwy::HWY_NAMESPACE;
  const SsimTag d;
  constexpr int64_t r = SsimLossFwd::radius;
  for (int64_t j = 0; j < s.width; j += int64_t(hn::Lanes(d))) {
    const size_t count = size_t(std::min<int64_t>(int64_t(hn::Lanes(d)), s.width - j));
    SsimVec m = hn::Zero(d);
    for (int64_t i = std::max(-r, -row); i <= std::min(r, s.height - 1 - row); ++i)
      m = hn::MulAdd(hn::Set(d, SsimLossFwd::window[std::abs(i)]),
                     load_first(d, map + (row + i) * s.width + j, count), m);
    store_first(m, d, sum.at(j), count);
  }
}

/// Inputs of the similarity, at as many pixels as a vector has lanes.
struct SsimParts {
  SsimVec mx, my, light, structure, light_size, structure_size;
};
HWY_INLINE SsimParts ssim_parts(PaddedRow* sums, int64_t j) {
  namespace hn = hwy::HWY_NAMESPACE;
  const SsimTag d;
  const SsimVec c1 = hn::Set(d, float(SsimLossFwd::c1)), c2 = hn::Set(d, float(SsimLossFwd::c2)),
                two = hn::Set(d, 2.0F);
  SsimParts p;
  p.mx = sums[0].across(j), p.my = sums[1].across(j);
  const SsimVec xx = sums[2].across(j), yy = sums[3].across(j), xy = sums[4].across(j),
                both = hn::Mul(p.mx, p.my);
  p.light = hn::MulAdd(two, both, c1);
  p.structure = hn::MulAdd(two, hn::Sub(xy, both), c2);
  p.light_size = hn::Add(hn::MulAdd(p.mx, p.mx, hn::Mul(p.my, p.my)), c1);
  p.structure_size = hn::Add(hn::Add(hn::NegMulAdd(p.mx, p.mx, xx), hn::NegMulAdd(p.my, p.my, yy)), c2);
  return p;
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
