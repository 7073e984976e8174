// Runs of floats: sums over one, and writing one, streamed where that is asked for. Included by kernel files
// inside Highway's foreach_target, once a target.
//
// The summed or written value is a function of a loader, so that whole vectors and the partial one at the end
// share it:
//
//   sum_run(d, n, [&](const auto& load, V sum) HWY_ATTR { const V v = load(x); return hn::MulAdd(v, v, sum); })
//   write_run(d, y, n, stream, [&](const auto& load) HWY_ATTR { return hn::Mul(load(x), scale); })
#if defined(KLAB_KERNELS_COMMON_RUNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_RUNS_INL_H_
#undef KLAB_KERNELS_COMMON_RUNS_INL_H_
#else
#define KLAB_KERNELS_COMMON_RUNS_INL_H_
#endif

#include <algorithm>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

/// Vectors that begin at element k.
template <class D>
struct WholeAt {
  int64_t k;
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> operator()(const float* p) const {
    return hwy::HWY_NAMESPACE::LoadU(D(), p + k);
  }
};

/// The first `count` lanes of them, zero in the others.
template <class D>
struct PartAt {
  int64_t k;
  size_t count;
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> operator()(const float* p) const {
    return load_first(D(), p + k, count);
  }
};

/// The sum over n elements in four vectors: add(load, sum) returns the sum with the vector at `load`.
template <class D, class Add>
HWY_INLINE float sum_run(D d, int64_t n, const Add& add) {
  namespace hn = hwy::HWY_NAMESPACE;
  using V = hn::Vec<D>;
  const int64_t lanes = int64_t(hn::Lanes(d));
  V a = hn::Zero(d), b = a, e = a, f = a;
  int64_t k = 0;
  for (; k + 4 * lanes <= n; k += 4 * lanes) {
    a = add(WholeAt<D>{k}, a);
    b = add(WholeAt<D>{k + lanes}, b);
    e = add(WholeAt<D>{k + 2 * lanes}, e);
    f = add(WholeAt<D>{k + 3 * lanes}, f);
  }
  for (; k + lanes <= n; k += lanes) a = add(WholeAt<D>{k}, a);
  if (k < n) {
    const size_t count = size_t(n - k);
    b = hn::IfThenElse(hn::FirstN(d, count), add(PartAt<D>{k, count}, b), b);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(e, f))));
}

struct TwoSums {
  float first, second;
};

/// Two sums over n elements, two vectors each: add(load, first, second) adds the vector at `load` to both.
template <class D, class Add>
HWY_INLINE TwoSums two_sums_run(D d, int64_t n, const Add& add) {
  namespace hn = hwy::HWY_NAMESPACE;
  using V = hn::Vec<D>;
  const int64_t lanes = int64_t(hn::Lanes(d));
  V a = hn::Zero(d), b = a, e = a, f = a;
  int64_t k = 0;
  for (; k + 2 * lanes <= n; k += 2 * lanes) {
    add(WholeAt<D>{k}, a, b);
    add(WholeAt<D>{k + lanes}, e, f);
  }
  for (; k + lanes <= n; k += lanes) add(WholeAt<D>{k}, a, b);
  if (k < n) {
    const size_t count = size_t(n - k);
    V first = e, second = f;
    add(PartAt<D>{k, count}, first, second);
    e = hn::IfThenElse(hn::FirstN(d, count), first, e);
    f = hn::IfThenElse(hn::FirstN(d, count), second, f);
  }
  return {hn::GetLane(hn::SumOfLanes(d, hn::Add(a, e))), hn::GetLane(hn::SumOfLanes(d, hn::Add(b, f)))};
}

/// y[0 .. n) = out(load). Streamed, whole cache lines go around the caches, and the caller ends with hwy::FlushStream().
template <class D, class Out>
HWY_INLINE void write_run(D d, float* y, int64_t n, bool stream, const Out& out) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr int64_t kLine = 16;  // floats, and no vector is longer
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto plainly = [&](int64_t k, int64_t end) HWY_ATTR {
    for (; k + lanes <= end; k += lanes) hn::StoreU(out(WholeAt<D>{k}), d, y + k);
    if (k < end) store_first(out(PartAt<D>{k, size_t(end - k)}), d, y + k, size_t(end - k));
  };
  if (!stream) return plainly(0, n);
  const int64_t past = int64_t(reinterpret_cast<uintptr_t>(y) / sizeof(float)) % kLine;
  int64_t k = std::min(n, (kLine - past) % kLine);
  plainly(0, k);
  for (; k + kLine <= n; k += kLine)
    for (int64_t i = k; i < k + kLine; i += lanes) hn::Stream(out(WholeAt<D>{i}), d, y + i);
  plainly(k, n);
}

/// The sum; the sum of squares about a mean.
template <class D>
HWY_INLINE float sum_of(D d, const float* x, int64_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  return sum_run(d, n, [x](const auto& load, auto sum) HWY_ATTR { return hn::Add(sum, load(x)); });
}
template <class D>
HWY_INLINE float squares_about(D d, const float* x, int64_t n, float mean) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto m = hn::Set(d, mean);
  return sum_run(d, n, [x, m](const auto& load, auto sum) HWY_ATTR {
    const auto deviation = hn::Sub(load(x), m);
    return hn::MulAdd(deviation, deviation, sum);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
