// adamw.cpu.03_threads: entries shared out among the cores.
//
// CHANGE    each thread takes a run of entries that begins at a cache line, across the borders of tensors.
// EXPECT    the bandwidth of the memory, of which one core leaves a little, or half, as its own is: at least 1.05 times.
// NUMERICS  as the parent, bit for bit: entries do not meet.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/adamw/adamw.h"

#include "kernels/common/optimizer/lanes-inl.h"

KLAB_SIMD_BEGIN();

void update(const Adamw::Args<float>& x, int64_t begin, int64_t end) {
  optimizer_range<Optimizer::adamw>(optimizer_step(x), begin, end);
}

KLAB_SIMD_END(update);

#if HWY_ONCE
namespace klab {
namespace {

void run(const Adamw::Args<float>& x) {
  const auto update_range = HWY_DYNAMIC_DISPATCH(update);
  const int64_t n = x.shape.n;
  constexpr int64_t kWorthThreads = 1 << 14;  // entries; below, waking a thread takes longer than the work
  parallel_ranges(n, n >= kWorthThreads, 16, [&](int64_t i, int64_t end) { update_range(x, i, end); });
  for (int64_t t = 0; t < x.shape.tensors; ++t) ++x.steps[t];
}

KLAB_VARIANT(Adamw, {.run = run,
                     .parent = "02_simd",
                     .tiles = {16},
                     .expect = {.shape = {1 << 23, 64}, .over_parent = 1.05}});

}  // namespace
}  // namespace klab
#endif
