// window_sum.cpu.05_by_radius: short windows added up directly, long ones by walks.
//
// CHANGE    windows of up to 33 elements go the way of 03_simd, longer ones that of the parent.
// EXPECT    the faster of its two ancestors at every radius. A direct window costs one load per element, two
//           walks some thirty instructions per vector: they meet near 30 elements.
// NUMERICS  as the one of the two that is taken.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/window_sum/window_sum.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

/// Inclusive sums from the last lane down.
template <class D, class V>
HWY_INLINE V suffix_sum(D d, V v) {
  return hn::Reverse(d, prefix_sum(d, hn::Reverse(d, v)));
}
template <class D, class V>
HWY_INLINE V first_lane(D d, V v) {
  return hn::Set(d, hn::GetLane(v));
}

void group(const float* HWY_RESTRICT x, float* HWY_RESTRICT y, int64_t n, int64_t r, int64_t first) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), past = first + 2 * r + 1, end = std::min(past, n);
  auto sum = hn::Zero(d);  // the running sum, in all lanes
  int64_t i = end;
  for (const int64_t no_output = std::min(past, n + r); i < no_output; i += lanes)
    sum = hn::Add(sum, load_first(d, x + i - r, size_t(std::min(lanes, no_output - i))));
  sum = hn::SumOfLanes(d, sum);
  const int64_t low = std::max(first, r);
  for (i = end; i - lanes >= low; i -= lanes) {
    const auto part = suffix_sum(d, hn::LoadU(d, x + i - lanes - r));
    hn::StoreU(hn::Add(part, sum), d, y + i - lanes);
    sum = hn::Add(sum, first_lane(d, part));
  }
  if (i > low) {
    const auto part = suffix_sum(d, load_first(d, x + low - r, size_t(i - low)));
    store_first(hn::Add(part, sum), d, y + low, size_t(i - low));
    sum = hn::Add(sum, first_lane(d, part));
  }
  for (i = first; i < std::min(low, end); i += lanes)  // windows that begin before x
    store_first(sum, d, y + i, size_t(std::min({lanes, low - i, end - i})));

  sum = hn::Zero(d);
  const int64_t high = std::min(end, n - r);
  for (i = first + 1; i + lanes <= high; i += lanes) {
    const auto part = prefix_sum(d, hn::LoadU(d, x + i + r));
    hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::Add(part, sum)), d, y + i);
    sum = hn::Add(sum, last_lane(d, part));
  }
  if (i < high) {
    const size_t count = size_t(high - i);
    const auto part = prefix_sum(d, load_first(d, x + i + r, count));
    store_first(hn::Add(load_first(d, y + i, count), hn::Add(part, sum)), d, y + i, count);
    sum = hn::Add(sum, last_lane(d, part));
  }
  for (i = std::max(first + 1, n - r); i < end; i += lanes) {  // windows that end behind x
    const size_t count = size_t(std::min(lanes, end - i));
    store_first(hn::Add(load_first(d, y + i, count), sum), d, y + i, count);
  }
}

void one_by_one(const float* x, float* y, int64_t n, int64_t r, int64_t i, int64_t end) {
  for (; i < end; ++i) {
    float sum = 0;
    for (int64_t j = std::max<int64_t>(i - r, 0); j < std::min(i + r + 1, n); ++j) sum += x[j];
    y[i] = sum;
  }
}

// Outputs [i, end), every window from its beginning.
void direct(const float* HWY_RESTRICT x, float* HWY_RESTRICT y, int64_t n, int64_t r, int64_t i,
            int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), whole = std::min(end, std::max(i, r));
  one_by_one(x, y, n, r, i, whole);
  for (i = whole; i + 4 * lanes <= std::min(end, n - r); i += 4 * lanes) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (const float *p = x + i - r, *past = x + i + r; p <= past; ++p) {
      a = hn::Add(a, hn::LoadU(d, p));
      b = hn::Add(b, hn::LoadU(d, p + lanes));
      c = hn::Add(c, hn::LoadU(d, p + 2 * lanes));
      e = hn::Add(e, hn::LoadU(d, p + 3 * lanes));
    }
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + i + lanes);
    hn::StoreU(c, d, y + i + 2 * lanes);
    hn::StoreU(e, d, y + i + 3 * lanes);
  }
  one_by_one(x, y, n, r, i, end);
}

constexpr int64_t kShort = 16;  // largest radius added up directly

void sums(const WindowSum::Args<float>& args) {
  const int64_t n = args.shape.n, r = std::min(args.shape.r, n);  // beyond n, a window holds everything
  if (r <= kShort) return direct(args.x, args.y, n, r, 0, n);
  for (int64_t first = 0; first < n; first += 2 * r + 1) group(args.x, args.y, n, r, first);
}

KLAB_SIMD_END(sums);

#if HWY_ONCE
namespace klab {
namespace {

void run(const WindowSum::Args<float>& x) { HWY_DYNAMIC_DISPATCH(sums)(x); }

KLAB_VARIANT(WindowSum, {.run = run,
                         .parent = "04_scan",
                         .tiles = {16},
                         .expect = {.shape = {65536, 3}, .over_parent = 4},
                         .when = {{65536, 3}, "narrow windows"}});

}  // namespace
}  // namespace klab
#endif
