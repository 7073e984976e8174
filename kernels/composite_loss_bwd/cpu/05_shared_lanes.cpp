// composite_loss_bwd.cpu.05_shared_lanes: vectors along the stream, regardless of the ray that a lane belongs
// to; then the lanes are rays.
//
// CHANGE    in place of loops over each ray's vectors, walks over those of a piece of rays, as
//           composite_bwd.10 has them. 02_one_pass's idea makes the last one short: with the sums of weighted
//           colors so far, channel by channel, only a scalar product with the gradient of the color is left,
//           which with the loss is computed for a vector of rays at a time.
// EXPECT    20 bytes in and 16 out a sample; some 170 vector operations for 16 samples, whatever the length
//           of rays, and hardly a branch that depends on it. The parent has more for each vector of each ray,
//           most lanes of it empty with short rays: 2 times at a mean of 3, and 1.1 times at 32.
// NUMERICS  sums grouped by the place in the stream, the same for any number of threads; samples behind an
//           opaque one are computed, too. Colors are summed before the gradient weighs them: the same terms,
//           rounded once more.
// NEEDS     20 bytes per sample of a piece, in L1; compressing and spreading lanes, which is one instruction
//           each with vectors of 64 bytes.
#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/simd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"

#include "kernels/common/composite/ray_colors-inl.h"
#include "kernels/common/composite/ray_results-inl.h"

KLAB_SIMD_BEGIN();

/// The factors in which the gradients of a ray's samples are linear: the gradient g of its color, and <g,
/// color>.
struct RayGradients {
  EachRay color[3] = {}, total = {};
};

void composite(const CompositeLossBwd::Args<float>& x, int64_t begin_ray, int64_t end_ray) {
  const D d;
  const DU du;
  const DI di;
  const int64_t n = x.shape.rays;
  const ChannelLoss channel(x.shape.kind);
  Results<false> results(x, x.ray_begin[begin_ray]);
  Pieces piece(x.ray_begin, begin_ray, end_ray, 5);
  RaySums sums;
  RayGradients given;
  while (piece.next()) {
    sum_colors<true>(x, piece, sums);
    for_rays(x, piece, sums,
             [&](int64_t r, size_t count, size_t place, M some, V red, V green, V blue) HWY_ATTR {
               const V share = hn::Mul(load_first(d, x.d_loss + r, count), hn::Set(d, 1.0F / 3));
               V loss = hn::Zero(d), total = loss;
               const auto take = [&](V color, int64_t c) HWY_ATTR {
                 const V error = hn::Sub(color, load_first(d, x.target + c * n + r, count));
                 loss = hn::Add(loss, channel.value(error));
                 const V g = hn::Mul(share, channel.slope(error));
                 total = hn::MulAdd(g, color, total);
                 hn::StoreU(compact(d, g, some), d, &given.color[c][place]);
               };
               take(red, 0);
               take(green, 1);
               take(blue, 2);
               store_first(hn::Mul(loss, hn::Set(d, 1.0F / 3)), d, x.loss + r, count);
               hn::StoreU(compact(d, total, some), d, &given.total[place]);
               __builtin_prefetch(x.d_loss + r + kRaysAhead);  // past the end it does no harm
             });
    for (int64_t i = piece.base, number = 0; i < piece.to; i += kLanes, ++number) {
      const float* const at = piece.memory + number * piece.per_vector;
      const uint32_t others = piece.words[number] & ~kAlways & ~uint32_t(1);
      const size_t ray = size_t(piece.first_ray[number]);
      V red, green, blue, total;
      if (few(others)) {
        const M old = none_of(hn::Set(du, others), 4);
        red = choose(old, &given.color[0][ray]);
        green = choose(old, &given.color[1][ray]);
        blue = choose(old, &given.color[2][ray]);
        total = choose(old, &given.total[ray]);
      } else {
        const auto which =
            hn::BitCast(di, hn::PopulationCount(hn::And(hn::Set(du, others), hn::Load(du, kBits[4].data()))));
        red = spread(&given.color[0][ray], which);
        green = spread(&given.color[1][ray], which);
        blue = spread(&given.color[2][ray], which);
        total = spread(&given.total[ray], which);
      }
      const V weight = hn::Load(d, at);
      V raw = hn::MulSub(red, hn::Load(d, at + 2 * kLanes), total);
      raw = hn::MulAdd(green, hn::Load(d, at + 3 * kLanes), raw);
      raw = hn::Mul(hn::Load(d, at + kLanes), hn::MulAdd(blue, hn::Load(d, at + 4 * kLanes), raw));
      const V out[] = {hn::Mul(weight, red), hn::Mul(weight, green), hn::Mul(weight, blue), raw};
      if (HWY_LIKELY(piece.from <= i && i + kLanes <= piece.to))
        for (int c = 0; c < 4; ++c) results.put(out[c], c, i);
      else
        for (int c = 0; c < 4; ++c) results.put_part(out[c], c, i, piece.from, piece.to);
    }
  }
  results.finish(x.ray_begin[end_ray]);
}

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeLossBwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  parallel_rays(x.ray_begin, x.shape.rays, x.shape.samples >= kWorthThreads,
                [&](int64_t begin, int64_t end) { part(x, begin, end); });
}

KLAB_VARIANT(CompositeLossBwd, {.run = run,
                                .parent = "04_threads",
                                .forward = "04_shared_lanes",
                                .numerics = {.growth = Growth::linear},
                                .tiles = {4, 16, 512},
                                .expect = {.shape = {10752, 1 << 15, 1}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
