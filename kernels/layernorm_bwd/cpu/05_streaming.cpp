// layernorm_bwd.cpu.05_streaming: gradients leave by the line, and are not read first.
//
// CHANGE    beyond the caches d_x leaves by streaming stores.
// EXPECT    16 bytes a feature move where 12 are compulsory: up to 1.33 times beyond the caches; within them plain stores
//           stay, and for short rows that share their lines.
// NUMERICS  as the parent, bit for bit.
// NEEDS     an instruction set with streaming stores for the gain; elsewhere Highway makes them plain ones.
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "kernels/common/streaming.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Rows [i, end): writes d_x, and adds to d_gamma and d_beta, which are padded to whole vectors.
void rows(const LayernormBwd::Args<float>& x, int64_t i, int64_t end, float* HWY_RESTRICT d_gamma,
          float* HWY_RESTRICT d_beta, bool stream) {
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
    write_run(d, x.d_x + i * c, c, stream, [=](const auto& load) HWY_ATTR {
      const V xhat = hn::Mul(hn::Sub(load(row), m), r), g = hn::Mul(load(d_y), load(gamma));
      return hn::NegMulAdd(xhat, slope, hn::MulSub(g, r, shift));
    });
  }
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(rows);

#if HWY_ONCE
void run(const LayernormBwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // features worth waking a team for
  static thread_local Scratch memory;
  const int64_t n = x.shape.n, c = x.shape.c, room = (c + 15) / 16 * 16;
  const int team = n * c < kEnough ? 1 : int(std::min<int64_t>(omp_get_max_threads(), n));
  const bool stream = worth_streaming(n * c, c);
  float* sums = memory.floats(2 * room * team);
  const auto part = HWY_DYNAMIC_DISPATCH(rows);
#pragma omp parallel num_threads(team)
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    float* own = sums + 2 * room * k;
    std::fill_n(own, 2 * room, 0.0F);
    part(x, n * k / parts, n * (k + 1) / parts, own, own + room, stream);
#pragma omp barrier
#pragma omp for
    for (int64_t j = 0; j < c; ++j) {
      float d_gamma = 0, d_beta = 0;
      for (int64_t p = 0; p < parts; ++p) {
        d_gamma += sums[2 * room * p + j];
        d_beta += sums[2 * room * p + room + j];
      }
      x.d_gamma[j] = d_gamma;
      x.d_beta[j] = d_beta;
    }
  }
}

KLAB_VARIANT(LayernormBwd, {.run = run,
                            .parent = "04_threads",
                            .forward = "01_naive",
                            .tiles = {16, 64},
                            .expect = {.shape = {8192, 1024}, .over_parent = 1.1}});
KLAB_SIMD_CLOSE();
#endif
