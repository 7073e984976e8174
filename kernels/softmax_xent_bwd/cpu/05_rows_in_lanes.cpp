// softmax_xent_bwd.cpu.05_rows_in_lanes: short rows side by side, one in each lane.
//
// CHANGE    up to 48 classes, 16 rows are transposed on their way in, and back on their way out; in between
//           no lane needs another.
// EXPECT    with ten classes about twice the parent. Less than in the forward: the way out is transposed one
//           element at a time.
// NUMERICS  a lane adds up a row from left to right.
// NEEDS     nothing. The rows left over at the end go the parent's way; threads begin at multiples of 16
//           rows, so that these are the same for any number of threads.
#include <cmath>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

#include "hwy/contrib/math/math-inl.h"
#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/softmax_xent_bwd/cpu/03_simd-inl.h"

constexpr int64_t kShort = 48;  // classes up to which rows go side by side

// `lanes` rows side by side: column j of all of them is one vector of the buffer.
void gradients_of_short_rows(const SoftmaxXentBwd::Args<float>& x, int64_t i) {
  const Tag tag;
  const hn::RebindToSigned<Tag> di;
  const size_t lanes = hn::Lanes(tag);
  const int64_t c = x.shape.c;
  const float* first = x.logits + i * c;
  const auto row_begins = hn::Mul(hn::Iota(di, 0), hn::Set(di, int32_t(c)));
  HWY_ALIGN float columns[size_t(kShort) * 16];
  V largest = hn::Set(tag, kLowest);
  for (int64_t j = 0; j < c; ++j) {
    const V column = hn::GatherIndex(tag, first + j, row_begins);
    hn::Store(column, tag, columns + size_t(j) * lanes);
    largest = hn::Max(largest, column);
  }
  V sum = hn::Zero(tag);
  for (int64_t j = 0; j < c; ++j) {
    float* column = columns + size_t(j) * lanes;
    const V e = exp_minus(tag, hn::Sub(largest, hn::Load(tag, column)));
    hn::Store(e, tag, column);
    sum = hn::Add(sum, e);
  }
  const V label = hn::GatherIndex(tag, first, hn::Add(row_begins, hn::LoadU(di, x.labels + i)));
  hn::StoreU(hn::Add(hn::Log(tag, sum), hn::Sub(largest, label)), tag, x.loss + i);
  const V scale = hn::Div(hn::LoadU(tag, x.d_loss + i), sum);
  for (int64_t j = 0; j < c; ++j) {
    float* column = columns + size_t(j) * lanes;
    hn::Store(hn::Mul(hn::Load(tag, column), scale), tag, column);
  }
  for (size_t r = 0; r < lanes; ++r) {
    float* d = x.d_logits + (i + int64_t(r)) * c;
    for (int64_t j = 0; j < c; ++j) d[j] = columns[size_t(j) * lanes + r];
    d[x.labels[i + int64_t(r)]] -= x.d_loss[i + int64_t(r)];
  }
}

// Rows [i, end).
void gradients(const SoftmaxXentBwd::Args<float>& x, int64_t i, int64_t end) {
  const int64_t c = x.shape.c;
  const int64_t lanes = int64_t(hn::Lanes(Tag()));
  if (c <= kShort)
    for (; i + lanes <= end; i += lanes) gradients_of_short_rows(x, i);
  for (; i < end; ++i) {
    const float *row = x.logits + i * c, g = x.d_loss[i];
    float* d = x.d_logits + i * c;
    const int64_t label = x.labels[i];
    const float largest = largest_of(row, c), sum = exponentials(row, d, c, largest);
    x.loss[i] = std::log(sum) + (largest - row[label]);
    multiply(d, c, g / sum);
    d[label] -= g;
  }
}

KLAB_SIMD_END(gradients);

#if HWY_ONCE
namespace klab {
namespace {

void run(const SoftmaxXentBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  constexpr int64_t kEnough = 1 << 14;  // logits worth waking a team for
  const auto part = HWY_DYNAMIC_DISPATCH(gradients);
  parallel_ranges(x.shape.n, n * c >= kEnough, 16, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(SoftmaxXentBwd, {.run = run,
                              .parent = "04_threads",
                              .forward = "06_rows_in_lanes",
                              .tiles = {16, 48, 64},
                              .expect = {.shape = {16384, 10}, .over_parent = 1.5},
                              .when = {{16384, 10}, "rows shorter than a vector"}});

}  // namespace
}  // namespace klab
#endif
