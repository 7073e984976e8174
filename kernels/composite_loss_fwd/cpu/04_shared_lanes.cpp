// composite_loss_fwd.cpu.04_shared_lanes: vectors along the stream, regardless of the ray that a lane belongs
// to; then the lanes are rays.
//
// CHANGE    in place of a loop over each ray's vectors, one over those of a piece of rays, as in
//           composite_fwd.09 and composite_bwd.10: prefix sums stop where a ray begins, a ray's sums are
//           picked where it ends. The loss is taken of a vector of rays at a time.
// EXPECT    20 bytes per sample; some 130 vector operations for 16 samples at any length of rays, and no
//           branch that depends on it. The parent has as many for each vector of each ray, most lanes of it
//           empty with short rays: at a mean of 3 twice as fast or more, at 32 1.1 times.
// NUMERICS  sums grouped by the place in the stream, the same for any number of threads; samples behind an
//           opaque one are computed, too.
// NEEDS     compressing and spreading lanes, which is one instruction each with vectors of 64 bytes.
#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/simd.h"
#include "reference/composite_loss_fwd/composite_loss_fwd.h"

#include "kernels/common/composite/ray_colors-inl.h"

KLAB_SIMD_BEGIN();

void composite(const CompositeLossFwd::Args<float>& x, int64_t begin_ray, int64_t end_ray) {
  const D d;
  const int64_t n = x.shape.rays;
  const ChannelLoss channel(x.shape.kind);
  Pieces piece(x.ray_begin, begin_ray, end_ray, 1);
  RaySums sums;
  while (piece.next()) {
    sum_colors<false>(x, piece, sums);
    for_rays(x, piece, sums, [&](int64_t r, size_t count, size_t, M, V red, V green, V blue) HWY_ATTR {
      const auto loss = [&](V color, int64_t c) HWY_ATTR {
        return channel.value(hn::Sub(color, load_first(d, x.target + c * n + r, count)));
      };
      const V sum = hn::Add(hn::Add(loss(red, 0), loss(green, 1)), loss(blue, 2));
      store_first(hn::Mul(sum, hn::Set(d, 1.0F / 3)), d, x.loss + r, count);
    });
  }
}

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeLossFwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  parallel_rays(x.ray_begin, x.shape.rays, x.shape.samples >= kWorthThreads,
                [&](int64_t begin, int64_t end) { part(x, begin, end); });
}

KLAB_VARIANT(CompositeLossFwd, {.run = run,
                                .parent = "03_threads",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {4, 16, 512},
                                .expect = {.shape = {10752, 1 << 15, 1}, .over_parent = 2},
                                .when = {{10752, 1 << 15, 1}, "short rays leave lanes empty"}});
KLAB_SIMD_CLOSE();
#endif
