// layernorm_residual_fwd.cpu.02_fused: a row is added, normalized and left.
//
// CHANGE    the addition and the normalization of a row follow each other, in vectors: the sum is still in L1 when it is
//           needed.
// EXPECT    the sum crosses the border to memory once, not twice, and no chain waits: four times at least.
// NUMERICS  64 partial sums with 16 lanes; the sum is rounded once, as it is written.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/layernorm_residual_fwd/layernorm_residual_fwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Rows [i, end).
void normalize(const LayernormResidualFwd::Args<float>& x, int64_t i, int64_t end) {
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
    write_run(d, x.y + i * c, c, false, [row, gamma, beta, m, r](const auto& load) HWY_ATTR {
      return hn::MulAdd(load(gamma), hn::Mul(hn::Sub(load(row), m), r), load(beta));
    });
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}

KLAB_SIMD_END(normalize);

#if HWY_ONCE
namespace klab {
namespace {

void run(const LayernormResidualFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(normalize)(x, 0, x.shape.n); }

KLAB_VARIANT(LayernormResidualFwd, {.run = run,
                                    .parent = "01_naive",
                                    .tiles = {16, 64},
                                    .expect = {.shape = {8192, 1024}, .over_parent = 2.5}});

}  // namespace
}  // namespace klab
#endif
