// pixel_loss_bwd.cpu.02_simd: a clamp instead of cases, a pixel in each lane.
//
// CHANGE    vectors; the case distinction is a clamp.
// EXPECT    many times the parent in cache; the bandwidth beyond it.
// NUMERICS  a third is a factor instead of a division.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

void gradient(const PixelLossBwd::Args<float>& x, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), n = x.shape.n;
  const bool squares = x.shape.kind == 0;
  const auto turn = hn::Set(d, PixelLossFwd::turn(x.shape.kind)),
             factor = hn::Set(d, (squares ? 2.0F : 1.0F) / 3);
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    const auto g = hn::Mul(load_first(d, x.d_loss + i, count), factor);
    for (int64_t c = 0; c < 3; ++c) {
      auto e =
          hn::Sub(load_first(d, x.prediction + c * n + i, count), load_first(d, x.target + c * n + i, count));
      if (!squares) {
        e = hn::IfThenElse(hn::Gt(e, turn), turn, e);
        e = hn::IfThenElse(hn::Lt(e, hn::Neg(turn)), hn::Neg(turn), e);
      }
      store_first(hn::Mul(g, e), d, x.d_prediction + c * n + i, count);
    }
  }
}

KLAB_SIMD_END(gradient);

#if HWY_ONCE
namespace klab {
namespace {

void run(const PixelLossBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(gradient)(x, 0, x.shape.n); }

KLAB_VARIANT(PixelLossBwd, {.run = run,
                            .parent = "01_naive",
                            .forward = "02_simd",
                            .tiles = {16},
                            .expect = {.shape = {8192, 1}, .over_parent = 4}});

}  // namespace
}  // namespace klab
#endif
