// softmax_xent_fwd.cpu.06_rows_in_lanes: short rows side by side, one in each lane.
//
// CHANGE    up to 48 classes, 16 rows are transposed on their way in; from there on no lane needs another.
// EXPECT    with ten classes several times the parent: no half-empty vector, no lanes to join, and one
//           logarithm for 16 rows. The gathers that transpose are the price: they grow with c, the savings do
//           not.
// NUMERICS  a lane adds up a row from left to right.
// NEEDS     nothing. The rows left over at the end go the parent's way; threads begin at multiples of 16
//           rows, so that these are the same for any number of threads.
#include <cmath>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

#include "hwy/contrib/math/math-inl.h"
#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/softmax_xent_fwd/cpu/04_online-inl.h"

constexpr int64_t kShort = 48;  // classes up to which rows go side by side

// `lanes` rows side by side: column j of all of them is one vector of the buffer.
//
//   row i     x0 x1 x2 ... x9                       columns[0]  x0 of rows i, i+1, i+2 ...
//   row i+1   x0 x1 x2 ... x9         becomes       columns[1]  x1 of rows i, i+1, i+2 ...
void losses_of_short_rows(const SoftmaxXentFwd::Args<float>& x, int64_t i) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  const size_t lanes = hn::Lanes(d);
  const int64_t c = x.shape.c;
  const float* first = x.logits + i * c;
  const auto row_begins = hn::Mul(hn::Iota(di, 0), hn::Set(di, int32_t(c)));
  HWY_ALIGN float columns[size_t(kShort) * 16];
  V largest = hn::Set(d, kLowest);
  for (int64_t j = 0; j < c; ++j) {
    const V column = hn::GatherIndex(d, first + j, row_begins);
    hn::Store(column, d, columns + size_t(j) * lanes);
    largest = hn::Max(largest, column);
  }
  V sum = hn::Zero(d);
  for (int64_t j = 0; j < c; ++j)
    sum = hn::Add(sum, exp_minus(d, hn::Sub(largest, hn::Load(d, columns + size_t(j) * lanes))));
  const V label = hn::GatherIndex(d, first, hn::Add(row_begins, hn::LoadU(di, x.labels + i)));
  hn::StoreU(hn::Add(hn::Log(d, sum), hn::Sub(largest, label)), d, x.loss + i);
}

// Rows [i, end).
void losses(const SoftmaxXentFwd::Args<float>& x, int64_t i, int64_t end) {
  const int64_t c = x.shape.c, lanes = int64_t(hn::Lanes(Tag()));
  if (c <= kShort)
    for (; i + lanes <= end; i += lanes) losses_of_short_rows(x, i);
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
  parallel_ranges(x.shape.n, n * c >= kEnough, 16, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(SoftmaxXentFwd, {.run = run,
                              .parent = "05_threads",
                              .tiles = {16, 48, 64},
                              .expect = {.shape = {16384, 10}, .over_parent = 2},
                              .when = {{16384, 10}, "rows shorter than a vector"}});

}  // namespace
}  // namespace klab
#endif
