// softmax_xent_fwd.cpu.05_threads: rows shared out among the cores.
//
// CHANGE    each thread takes a run of rows, and reads each row once, as 04_online does.
// EXPECT    about the number of cores: the arithmetic left after 03_simd is still more than one core's share
//           of the memory's bandwidth.
// NUMERICS  as 04_online, bit for bit.
// NEEDS     nothing. Small batches stay on one thread; so does a single row, however long.
#include <cmath>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;
constexpr float kLowest = std::numeric_limits<float>::lowest();

/// The first `count` lanes from p; the others can be no maximum.
HWY_INLINE V load_or_lowest(Tag d, const float* p, int64_t count) {
  return hn::IfThenElse(hn::FirstN(d, size_t(count)), load_first(d, p, size_t(count)), hn::Set(d, kLowest));
}

// The sum of exp(row[j] - largest), with the largest logit found on the way. Every lane keeps its own: sum =
// sum of exp(row[j] - top) over the logits that the lane has seen.
struct Reduced {
  float largest, sum;
};
Reduced reduce(const float* HWY_RESTRICT row, int64_t c) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  V top = hn::Set(d, kLowest), sum = hn::Zero(d);
  // A lane whose maximum grows scales its sum down, exp(old - new). That happens about log(c) times a row.
  const auto raise = [&](V candidate) HWY_ATTR {
    if (hn::AllFalse(d, hn::Gt(candidate, top))) return;
    const V higher = hn::Max(candidate, top);
    sum = hn::Mul(sum, exp_minus(d, hn::Sub(higher, top)));
    top = higher;
  };
  int64_t j = 0;
  for (; j + 4 * lanes <= c; j += 4 * lanes) {
    const V a = hn::LoadU(d, row + j), b = hn::LoadU(d, row + j + lanes),
            e = hn::LoadU(d, row + j + 2 * lanes), f = hn::LoadU(d, row + j + 3 * lanes);
    raise(hn::Max(hn::Max(a, b), hn::Max(e, f)));
    const V first = hn::Add(exp_minus(d, hn::Sub(top, a)), exp_minus(d, hn::Sub(top, b)));
    const V second = hn::Add(exp_minus(d, hn::Sub(top, e)), exp_minus(d, hn::Sub(top, f)));
    sum = hn::Add(sum, hn::Add(first, second));
  }
  for (; j < c; j += lanes) {
    const int64_t count = c - j < lanes ? c - j : lanes;
    const V a = load_or_lowest(d, row + j, count);
    raise(a);
    const V e = exp_minus(d, hn::Sub(top, a));
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, size_t(count)), e));
  }
  const V largest = hn::MaxOfLanes(d, top);
  sum = hn::Mul(sum, exp_minus(d, hn::Sub(largest, top)));  // lanes that saw nothing: 0
  return {hn::GetLane(largest), hn::GetLane(hn::SumOfLanes(d, sum))};
}

// Rows [i, end).
void losses(const SoftmaxXentFwd::Args<float>& x, int64_t i, int64_t end) {
  const int64_t c = x.shape.c;
  for (; i < end; ++i) {
    const float* row = x.logits + i * c;
    const Reduced r = reduce(row, c);
    x.loss[i] = std::log(r.sum) + (r.largest - row[x.labels[i]]);
  }
}

KLAB_SIMD_END(losses);

#if HWY_ONCE
namespace klab {
namespace {

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  constexpr int64_t kEnough = 1 << 14;  // logits worth waking a team for
  const auto part = HWY_DYNAMIC_DISPATCH(losses);
  parallel_ranges(x.shape.n, n * c >= kEnough, 1, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(SoftmaxXentFwd, {.run = run,
                              .parent = "03_simd",
                              .tiles = {16, 64},
                              .expect = {.shape = {4096, 1000}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
