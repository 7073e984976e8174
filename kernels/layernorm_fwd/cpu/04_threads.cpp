// layernorm_fwd.cpu.04_threads: rows shared out among the cores.
//
// CHANGE    each thread takes a run of rows.
// EXPECT    one core does not ask for all that memory can give: up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Few features in all stay on one thread; so does a single row, however long.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

float sum_of(const float* HWY_RESTRICT row, int64_t c) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  V a = hn::Zero(d), b = a, e = a, f = a;
  int64_t j = 0;
  for (; j + 4 * lanes <= c; j += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, row + j));
    b = hn::Add(b, hn::LoadU(d, row + j + lanes));
    e = hn::Add(e, hn::LoadU(d, row + j + 2 * lanes));
    f = hn::Add(f, hn::LoadU(d, row + j + 3 * lanes));
  }
  for (; j + lanes <= c; j += lanes) a = hn::Add(a, hn::LoadU(d, row + j));
  if (j < c) b = hn::Add(b, load_first(d, row + j, size_t(c - j)));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(e, f))));
}

float squares_about(const float* HWY_RESTRICT row, int64_t c, float mean) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const V m = hn::Set(d, mean);
  V a = hn::Zero(d), b = a, e = a, f = a;
  const auto with = [d, m](V sum, const float* p) HWY_ATTR {
    const V deviation = hn::Sub(hn::LoadU(d, p), m);
    return hn::MulAdd(deviation, deviation, sum);
  };
  int64_t j = 0;
  for (; j + 4 * lanes <= c; j += 4 * lanes) {
    a = with(a, row + j);
    b = with(b, row + j + lanes);
    e = with(e, row + j + 2 * lanes);
    f = with(f, row + j + 3 * lanes);
  }
  for (; j + lanes <= c; j += lanes) a = with(a, row + j);
  if (j < c) {  // lanes beyond the row deviate by nothing
    const size_t count = size_t(c - j);
    const V deviation = hn::IfThenElseZero(hn::FirstN(d, count), hn::Sub(load_first(d, row + j, count), m));
    b = hn::MulAdd(deviation, deviation, b);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(e, f))));
}

/// y = gamma·(row - mean)·rstd + beta.
void normalize_row(const LayernormFwd::Args<float>& x, const float* HWY_RESTRICT row, float* HWY_RESTRICT y,
                   float mean, float rstd) {
  const Tag d;
  const int64_t c = x.shape.c, lanes = int64_t(hn::Lanes(d));
  const V m = hn::Set(d, mean), r = hn::Set(d, rstd);
  int64_t j = 0;
  for (; j + lanes <= c; j += lanes) {
    const V xhat = hn::Mul(hn::Sub(hn::LoadU(d, row + j), m), r);
    hn::StoreU(hn::MulAdd(hn::LoadU(d, x.gamma + j), xhat, hn::LoadU(d, x.beta + j)), d, y + j);
  }
  if (j == c) return;
  const size_t count = size_t(c - j);
  const V xhat = hn::Mul(hn::Sub(load_first(d, row + j, count), m), r);
  store_first(hn::MulAdd(load_first(d, x.gamma + j, count), xhat, load_first(d, x.beta + j, count)), d, y + j,
              count);
}

/// Rows [i, end).
void normalize(const LayernormFwd::Args<float>& x, int64_t i, int64_t end) {
  const int64_t c = x.shape.c;
  for (; i < end; ++i) {
    const float* row = x.x + i * c;
    const float mean = sum_of(row, c) / float(c);
    const float rstd = 1 / std::sqrt(squares_about(row, c, mean) / float(c) + *x.epsilon);
    normalize_row(x, row, x.y + i * c, mean, rstd);
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}

KLAB_SIMD_END(normalize);

#if HWY_ONCE
namespace klab {
namespace {

void run(const LayernormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // features worth waking a team for
  const int64_t n = x.shape.n;
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(n, n * x.shape.c >= kEnough, 1, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "03_simd",
                            .tiles = {16, 64},
                            .expect = {.shape = {8192, 1024}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
