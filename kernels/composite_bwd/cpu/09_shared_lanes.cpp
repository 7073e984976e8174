// composite_bwd.cpu.09_shared_lanes: vectors along the stream, regardless of the ray that a lane belongs to.
//
// CHANGE    in place of a loop over each ray's vectors, one over those of a piece of rays. Prefix sums stop
//           where a ray begins, as in composite_fwd.09; a ray's inputs are spread over the lanes of its
//           samples, and its sums are picked where the next one begins. Vectors are whole lines, so results
//           are written as they are computed; the parent assembled a piece of them first and wrote it in a
//           burst.
// EXPECT    with rays of eight samples 1.3 times or more: no wrong guesses of where a ray ends, and no lanes
//           left empty at its end. With 32, twice the instructions use that up within the caches. Beyond them
//           a few percent: lines are written one by one, and reading continues meanwhile.
// NUMERICS  sums grouped by the place in the stream, the same for any number of threads; samples behind an
//           opaque one are computed, too.
// NEEDS     compressing and spreading lanes, which is one instruction each with vectors of 64 bytes.
// TRIED     see NOTES.md, cpu.09_shared_lanes
#include <omp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/composite/shares.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/composite_bwd/composite_bwd.h"

#include "kernels/common/composite/ray_gradients-inl.h"
#include "kernels/common/exp-inl.h"

KLAB_SIMD_BEGIN();

template <bool kStream>
void composite_to(const CompositeBwd::Args<float>& x, int64_t begin_ray, int64_t end_ray) {
  const D d;
  const DU du;
  const DI di;
  const int64_t samples = x.shape.samples;
  int64_t room = kPiece;
  for (int64_t r = begin_ray; r < end_ray; ++r)
    room = std::max<int64_t>(room, x.ray_begin[r + 1] - x.ray_begin[r]);
  Results<kStream> results(x, x.ray_begin[begin_ray]);
  Rays rays;
  std::vector<uint32_t> words(size_t(room / kLanes) + 3);
  std::vector<int32_t> first_ray(words.size());  // of each vector
  Scratch scratch;
  float* const memory =
      scratch.floats(4 * (room + 32));  // of each vector: slope, transmittance, sum, which ray
  const V least = hn::Set(d, 3.05902321e-7F), most = hn::Set(d, 3269017.37F);  // exp(-15), exp(15)
  for (int64_t first = begin_ray, last; first < end_ray; first = last) {
    // A piece: rays [first, last), whole ones, of samples [from, to). A bit where each begins, and one at the end. Vectors
    // begin at multiples of their length in the stream.
    const int64_t from = x.ray_begin[first], base = from / kLanes * kLanes;
    std::fill_n(words.begin(), kPiece / kLanes + 2, kAlways);
    const auto mark = [&](int64_t k) { words[size_t((k - base) / kLanes)] |= uint32_t(1) << (k % kLanes); };
    mark(from);
    for (last = first + 1; last < end_ray && x.ray_begin[last + 1] - from <= kPiece; ++last)
      mark(x.ray_begin[last]);
    const int64_t to = x.ray_begin[last];
    if (to == from) continue;
    if (to - from > kPiece) std::fill(words.begin() + 1, words.end(), kAlways);
    mark(to);
    const size_t found = rays.look_up<false>(x, first, last);
    const auto whole = [d](const float* p) HWY_ATTR { return hn::LoadU(d, p); };
    const auto walk = [&](auto&& step) HWY_ATTR {
      for (int64_t i = base; i < to; i += kLanes) {
        if (HWY_LIKELY(from <= i && i + kLanes <= to)) {
          step(i, whole, [&](V v, int c) HWY_ATTR { results.put(v, c, i); });
        } else {
          const size_t count = size_t(std::min(kLanes, samples - i));
          step(
              i, [d, count](const float* p) HWY_ATTR { return load_first(d, p, count); },
              [&](V v, int c) HWY_ATTR { results.put_part(v, c, i, from, to); });
        }
      }
    };
    // 1. Transmittance behind every sample, and the derivative of its optical depth.
    V in_front = hn::Zero(d);
    walk([&](int64_t i, auto load, auto) HWY_ATTR {
      float* const at = memory + 4 * (i - base);
      const V sigma = exp_saturated(d, load(x.density_raw + i)), delta = load(x.delta + i);
      hn::Store(hn::Mul(hn::Min(hn::Max(sigma, least), most), delta), d, at);
      prefetch(x.density_raw + i);
      prefetch(x.delta + i);
      prefetch(x.t + i);
      const V sum = scan(words[size_t((i - base) / kLanes)], hn::Mul(sigma, delta), in_front);
      in_front = last_lane(d, sum);
      hn::Store(exp_minus(d, sum), d, at + kLanes);
    });
    // 2. Gradients of colors, and the running sums that those of densities are differences of. Where a ray begins, the one
    // before has ended.
    V last_after = hn::Zero(d), last_sum = hn::Zero(d), before_sum = hn::Zero(d);
    size_t begun = 0;
    walk([&](int64_t i, auto load, auto put) HWY_ATTR {
      float* const at = memory + 4 * (i - base);
      const size_t number = size_t((i - base) / kLanes);
      const uint32_t word = words[number], others = word & ~kAlways & ~uint32_t(1);
      const size_t ray = begun + (word & 1);
      const auto which =
          hn::BitCast(di, hn::PopulationCount(hn::And(hn::Set(du, others), hn::Load(du, kBits[4].data()))));
      hn::Store(hn::BitCast(d, which), d, at + 3 * kLanes);
      first_ray[number] = int32_t(ray);
      const M begins = mask_of(word);
      const V after = hn::Load(d, at + kLanes), pushed = push(after, last_after);
      const V weight = hn::Sub(hn::IfThenElse(begins, hn::Set(d, 1.0F), pushed), after);
      const V red = spread(&rays.red[ray], which), green = spread(&rays.green[ray], which);
      const V blue = spread(&rays.blue[ray], which);
      V p = hn::Mul(spread(&rays.depth[ray], which), load(x.t + i));
      p = hn::MulAdd(red, load(x.rgb + i), p);
      p = hn::MulAdd(green, load(x.rgb + samples + i), p);
      p = hn::MulAdd(blue, load(x.rgb + 2 * samples + i), p);
      put(hn::Mul(weight, red), 0);
      put(hn::Mul(weight, green), 1);
      put(hn::Mul(weight, blue), 2);
      prefetch(x.rgb + i);
      prefetch(x.rgb + samples + i);
      prefetch(x.rgb + 2 * samples + i);
      const V sum = scan(word, hn::Mul(weight, p), before_sum);
      before_sum = last_lane(d, sum);
      hn::Store(hn::MulAdd(after, p, sum), d, at + 2 * kLanes);
      hn::StoreU(compact(d, pushed, begins), d, &rays.left[begun]);
      hn::StoreU(compact(d, push(sum, last_sum), begins), d, &rays.ends[begun]);
      begun += size_t(__builtin_popcount(word & ~kAlways));
    });
    rays.left[begun] = hn::GetLane(last_after);
    rays.ends[begun] = hn::GetLane(last_sum);
    // 3. Whole sums, light from behind included.
    for (size_t k = 0; k <= found; k += size_t(kLanes))
      hn::Store(
          hn::MulAdd(hn::Load(d, &rays.left[k]), hn::Load(d, &rays.behind[k]), hn::Load(d, &rays.ends[k])), d,
          &rays.total[k]);
    // 4. Gradients of densities.
    walk([&](int64_t i, auto, auto put) HWY_ATTR {
      const float* const at = memory + 4 * (i - base);
      const auto which = hn::BitCast(di, hn::Load(d, at + 3 * kLanes));
      const V total = spread(&rays.total[size_t(first_ray[size_t((i - base) / kLanes)])], which);
      put(hn::Mul(hn::Load(d, at), hn::Sub(hn::Load(d, at + 2 * kLanes), total)), 3);
    });
  }
  results.finish(x.ray_begin[end_ray]);
  if (kStream) hwy::FlushStream();
}

/// Rays [begin_ray, end_ray). far: there are more results than a cache keeps.
void composite(const CompositeBwd::Args<float>& x, bool far, int64_t begin_ray, int64_t end_ray) {
  far&& whole_lines(x) ? composite_to<true>(x, begin_ray, end_ray)
                       : composite_to<false>(x, begin_ray, end_ray);
}

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
#include "kernels/composite_bwd/cpu/09_shared_lanes_run-inl.h"

KLAB_VARIANT(CompositeBwd, {.run = run,
                            .parent = "07_streaming",
                            .forward = "08_threads",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16, 512},
                            .expect = {.shape = {1 << 15, 1 << 18}, .over_parent = 1.3},
                            .when = {{1 << 15, 1 << 18}, "short rays leave lanes empty"}});
KLAB_SIMD_CLOSE();
#endif
