// layernorm_fwd.cpu.06_merged_blocks: mean and variance from one reading of a long row.
//
// CHANGE    rows longer than L1 go in blocks that fit: sum and squares about the block's own mean, from L1;
//           then the block is merged with the statistics of the row before it (Chan, Golub and LeVeque 1983:
//           Welford's update with a block in the place of a number).
// EXPECT    a row that no cache holds is read twice from memory and not three times: up to 16/12 = 1.33 times
//           with the stores. Shorter rows go the parent's way.
// NUMERICS  the squares of a block are about its own mean; the merge adds positive numbers only. One more
//           term in the bound than two passes, mean over deviation times: moments.h.
// TRIED     Welford's update number by number: a division for each feature and lane.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

#include "hwy/cache_control.h"
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

/// Count, mean and the sum of squares about it, of a part of a row.
struct Part {
  float count, mean, squares;
};

Part part_of(const float* HWY_RESTRICT row, int64_t c) {
  const float mean = sum_of(row, c) / float(c);
  return {float(c), mean, squares_about(row, c, mean)};
}

Part join(const Part& a, const Part& b) {
  const float count = a.count + b.count, apart = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * (a.count * share)};
}

constexpr int64_t kBlock = 4096;  // features: half of the smallest L1

Part whole(const float* HWY_RESTRICT row, int64_t c) {
  Part known = part_of(row, std::min(c, kBlock));
  for (int64_t j = kBlock; j < c; j += kBlock) known = join(known, part_of(row + j, std::min(kBlock, c - j)));
  return known;
}

/// y = gamma·(row - mean)·rstd + beta.
void normalize_row(const LayernormFwd::Args<float>& x, const float* HWY_RESTRICT row, float* HWY_RESTRICT y,
                   float mean, float rstd, bool stream) {
  constexpr int64_t kLine = 16;  // floats, and no vector is longer
  const Tag d;
  const int64_t c = x.shape.c, lanes = int64_t(hn::Lanes(d));
  const V m = hn::Set(d, mean), r = hn::Set(d, rstd);
  const auto whole_at = [&](int64_t j) HWY_ATTR {
    const V xhat = hn::Mul(hn::Sub(hn::LoadU(d, row + j), m), r);
    return hn::MulAdd(hn::LoadU(d, x.gamma + j), xhat, hn::LoadU(d, x.beta + j));
  };
  const auto plainly = [&](int64_t j, int64_t end) HWY_ATTR {
    for (; j + lanes <= end; j += lanes) hn::StoreU(whole_at(j), d, y + j);
    if (j == end) return;
    const size_t count = size_t(end - j);
    const V xhat = hn::Mul(hn::Sub(load_first(d, row + j, count), m), r);
    store_first(hn::MulAdd(load_first(d, x.gamma + j, count), xhat, load_first(d, x.beta + j, count)), d,
                y + j, count);
  };
  if (!stream) return plainly(0, c);
  // Features up to the next line: y lies `past` of them behind a line's beginning.
  const int64_t past = int64_t(reinterpret_cast<uintptr_t>(y) / sizeof(float)) % kLine;
  int64_t j = std::min(c, (kLine - past) % kLine);
  plainly(0, j);
  for (; j + kLine <= c; j += kLine)
    for (int64_t k = j; k < j + kLine; k += lanes) hn::Stream(whole_at(k), d, y + k);
  plainly(j, c);
}

/// Rows [i, end).
void normalize(const LayernormFwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
  const int64_t c = x.shape.c;
  for (; i < end; ++i) {
    const float* row = x.x + i * c;
    const Part row_of = whole(row, c);
    const float rstd = 1 / std::sqrt(row_of.squares / float(c) + *x.epsilon);
    normalize_row(x, row, x.y + i * c, row_of.mean, rstd, stream);
    x.mean[i] = row_of.mean;
    x.rstd[i] = rstd;
  }
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_END(normalize);

#if HWY_ONCE
namespace klab {
namespace {

void run(const LayernormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // features worth waking a team for
  constexpr int64_t kBeyond = 1 << 22;  // features from which on no cache keeps the output
  const int64_t n = x.shape.n, all = n * x.shape.c;
  // A line that two short rows share would leave in two parts, each a separate write.
  const bool stream = all >= kBeyond && (x.shape.c >= 1024 || x.shape.c % 16 == 0);
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(n, all >= kEnough, 1, [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "05_streaming",
                            .tiles = {64, 4096},
                            .expect = {.shape = {4, 1 << 22}, .over_parent = 1.2},
                            .when = {{4, 1 << 22}, "rows that no cache holds"}});

}  // namespace
}  // namespace klab
#endif
