// pixel_loss_fwd.cpu.03_threads: pixels shared out among the cores.
//
// CHANGE    each thread takes a run of pixels.
// EXPECT    the bandwidth of the memory; a training step's few thousand pixels stay on one core.
// NUMERICS  as the parent, bit for bit.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

void loss(const PixelLossFwd::Args<float>& x, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), n = x.shape.n;
  const bool squares = x.shape.kind == 0;
  const auto turn = hn::Set(d, PixelLossFwd::turn(x.shape.kind)), half = hn::Set(d, 0.5F);
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    auto sum = hn::Zero(d);
    for (int64_t c = 0; c < 3; ++c) {
      const auto e = hn::Abs(hn::Sub(load_first(d, x.prediction + c * n + i, count),
                                     load_first(d, x.target + c * n + i, count)));
      // With s = min(e, turn): s·(e - s/2) is e^2/2 before the turn and turn·(e - turn/2) behind it.
      const auto s = squares ? e : hn::IfThenElse(hn::Gt(e, turn), turn, e);
      sum = hn::MulAdd(s, squares ? e : hn::NegMulAdd(half, s, e), sum);
    }
    store_first(hn::Mul(sum, hn::Set(d, 1.0F / 3)), d, x.loss + i, count);
  }
}

KLAB_SIMD_END(loss);

#if HWY_ONCE
namespace klab {
namespace {

void run(const PixelLossFwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(loss);
  const int64_t n = x.shape.n;
  constexpr int64_t kWorthThreads = 1 << 14;  // below, waking a thread takes longer than the work
  // Cut at multiples of a cache line of floats.
  parallel_ranges(n, n >= kWorthThreads, 16, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(PixelLossFwd, {.run = run,
                            .parent = "02_simd",
                            .tiles = {16},
                            .expect = {.shape = {1 << 22, 1}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
#endif
