// layernorm_bwd.cpu.03_simd: whole vectors, one reading for all sums.
//
// CHANGE    both loops of a row in vectors; the sums of the row in registers, those of the columns in arrays that stay in L1.
// EXPECT    no chain of additions waits: 1.5 times at least, until one core's share of the bandwidth binds.
// NUMERICS  16 partial sums for a row with 16 lanes; down a column one each.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Rows [i, end): writes d_x, and adds to d_gamma and d_beta, which are padded to whole vectors.
void rows(const LayernormBwd::Args<float>& x, int64_t i, int64_t end, float* HWY_RESTRICT d_gamma,
          float* HWY_RESTRICT d_beta) {
  const Tag d;
  const int64_t c = x.shape.c, lanes = int64_t(hn::Lanes(d));
  for (; i < end; ++i) {
    const float *row = x.x + i * c, *d_y = x.d_y + i * c, *gamma = x.gamma;
    const V m = hn::Set(d, x.mean[i]), r = hn::Set(d, x.rstd[i]);
    V sum = hn::Zero(d), product = sum;
    const auto add = [&](const auto& load, int64_t j) HWY_ATTR {
      const V upstream = load(d_y), xhat = hn::Mul(hn::Sub(load(row), m), r);
      const V g = hn::Mul(upstream, load(gamma));
      sum = hn::Add(sum, g);
      product = hn::MulAdd(g, xhat, product);
      hn::StoreU(hn::MulAdd(upstream, xhat, hn::LoadU(d, d_gamma + j)), d, d_gamma + j);
      hn::StoreU(hn::Add(upstream, hn::LoadU(d, d_beta + j)), d, d_beta + j);
    };
    int64_t j = 0;
    for (; j + lanes <= c; j += lanes) add(WholeAt<Tag>{j}, j);
    if (j < c) add(PartAt<Tag>{j, size_t(c - j)}, j);  // lanes beyond the row have an upstream gradient of 0
    const float rstd = x.rstd[i], share = rstd / float(c);
    const V shift = hn::Set(d, share * hn::GetLane(hn::SumOfLanes(d, sum)));
    const V slope = hn::Set(d, share * hn::GetLane(hn::SumOfLanes(d, product)));
    write_run(d, x.d_x + i * c, c, false, [=](const auto& load) HWY_ATTR {
      const V xhat = hn::Mul(hn::Sub(load(row), m), r), g = hn::Mul(load(d_y), load(gamma));
      return hn::NegMulAdd(xhat, slope, hn::MulSub(g, r, shift));
    });
  }
}

KLAB_SIMD_END(rows);

#if HWY_ONCE
namespace klab {
namespace {

void run(const LayernormBwd::Args<float>& x) {
  static thread_local Scratch memory;
  const int64_t c = x.shape.c, room = (c + 15) / 16 * 16;
  float* own = memory.floats(2 * room);
  std::fill_n(own, 2 * room, 0.0F);
  HWY_DYNAMIC_DISPATCH(rows)(x, 0, x.shape.n, own, own + room);
  std::copy_n(own, c, x.d_gamma);
  std::copy_n(own + room, c, x.d_beta);
}

KLAB_VARIANT(LayernormBwd, {.run = run,
                            .parent = "02_rows",
                            .forward = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {8192, 1024}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
