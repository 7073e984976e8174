// rmsnorm_fwd.cpu.03_threads: rows shared out among the cores.
//
// CHANGE    each thread takes a run of rows.
// EXPECT    one core does not ask for all that memory can give: up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Little work stays on one thread.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/rmsnorm_fwd/rmsnorm_fwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Rows [i, end).
void normalize(const RmsnormFwd::Args<float>& x, int64_t i, int64_t end) {
  const Tag d;
  const int64_t c = x.shape.c;
  const float* gamma = x.gamma;
  for (; i < end; ++i) {
    const float* row = x.x + i * c;
    const float squares = sum_run(d, c, [row](const auto& load, V sum) HWY_ATTR {
      const V v = load(row);
      return hn::MulAdd(v, v, sum);
    });
    const float rrms = 1 / std::sqrt(squares / float(c) + *x.epsilon);
    const V r = hn::Set(d, rrms);
    write_run(d, x.y + i * c, c, false, [row, gamma, r](const auto& load) HWY_ATTR {
      return hn::Mul(load(gamma), hn::Mul(load(row), r));
    });
    x.rrms[i] = rrms;
  }
}

KLAB_SIMD_END(normalize);

#if HWY_ONCE
namespace klab {
namespace {

void run(const RmsnormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.n;
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(all, all * x.shape.c >= kEnough, 1, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(RmsnormFwd, {.run = run,
                          .parent = "02_simd",
                          .tiles = {16, 64},
                          .expect = {.shape = {8192, 1024}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
#endif
