// layernorm_residual_fwd.cpu.04_streaming: the normalized rows leave by the line.
//
// CHANGE    beyond the caches y leaves by streaming stores. The sum, which is read again at once, is stored plainly.
// EXPECT    of the 24 bytes of an element that move, with two lines read before they are written, 4 go: up to 1.2 times.
// NUMERICS  as the parent, bit for bit.
// NEEDS     an instruction set with streaming stores for the gain; elsewhere Highway makes them plain ones.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/streaming.h"
#include "kernels/common/threads.h"
#include "reference/layernorm_residual_fwd/layernorm_residual_fwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Rows [i, end).
void normalize(const LayernormResidualFwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
  const Tag d;
  const int64_t c = x.shape.c;
  const float *gamma = x.gamma, *beta = x.beta;
  for (; i < end; ++i) {
    const float *in = x.x + i * c, *residual = x.residual + i * c;
    float* row = x.sum + i * c;
    write_run(d, row, c, false,
              [in, residual](const auto& load) HWY_ATTR { return hn::Add(load(in), load(residual)); });
    const float mean = sum_of(d, row, c) / float(c);
    const float rstd = 1 / std::sqrt(squares_about(d, row, c, mean) / float(c) + *x.epsilon);
    const V m = hn::Set(d, mean), r = hn::Set(d, rstd);
    write_run(d, x.y + i * c, c, stream, [row, gamma, beta, m, r](const auto& load) HWY_ATTR {
      return hn::MulAdd(load(gamma), hn::Mul(hn::Sub(load(row), m), r), load(beta));
    });
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const LayernormResidualFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.n;
  const bool stream = worth_streaming(all * x.shape.c, x.shape.c);
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(all, all * x.shape.c >= kEnough, 1,
                  [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(LayernormResidualFwd, {.run = run,
                                    .parent = "03_threads",
                                    .tiles = {16, 64},
                                    .expect = {.shape = {8192, 1024}, .over_parent = 1.05}});
KLAB_SIMD_CLOSE();
#endif
