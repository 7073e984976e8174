// composite_bwd.cpu.10_short_chains: instructions that wait for each other are farther apart.
//
// CHANGE    densities' exponentials have a walk of their own, and those of optical depths follow three
//           vectors behind their sums. Most vectors have lanes of one ray or of two: the inputs of these are
//           loaded into all lanes, and lanes choose; only with three or more are borders counted and values
//           spread. The inputs of rays are prefetched, and walks share the prefetching for samples.
// EXPECT    1.15 times the parent within the caches. From a density to a transmittance is some 150 cycles,
//           and a core holds three or four chains of that length, but enough of their pieces. Less beyond the
//           caches, if the kernel waits for memory.
// NUMERICS  as its parent.
// NEEDS     as its parent.
// TRIED     see NOTES.md, cpu.10_short_chains
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

constexpr int64_t kLate = 3;  // vectors from a sum to its exponential

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
  std::vector<uint32_t> words(size_t(room / kLanes + 3 + kLate));
  std::vector<int32_t> first_ray(words.size());  // of each vector
  Scratch scratch;
  // For each vector: slope, transmittance, sum, ray number.
  float* const memory = scratch.floats(4 * (room + 32 + 2 * kLate * kLanes)) + 4 * kLate * kLanes;
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
    const size_t found = rays.look_up<true>(x, first, last);
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
    // 1. Optical depth of every sample and its derivative.
    walk([&](int64_t i, auto load, auto) HWY_ATTR {
      float* const at = memory + 4 * (i - base);
      const V sigma = exp_saturated(d, load(x.density_raw + i)), delta = load(x.delta + i);
      hn::Store(hn::Mul(hn::Min(hn::Max(sigma, least), most), delta), d, at);
      hn::Store(hn::Mul(sigma, delta), d, at + kLanes);
      prefetch(x.density_raw + i);
    });
    // 2. Transmittance behind every sample, its exponential kLate vectors behind the sum. Values read past
    // the end and written before the beginning are not used.
    V in_front = hn::Zero(d), third = in_front, second = in_front, sum = in_front;
    for (int64_t i = base; i < to + kLate * kLanes; i += kLanes) {
      float* const at = memory + 4 * (i - base);
      const V tau = hn::Load(d, at + kLanes);
      hn::Store(exp_minus(d, third), d, at + kLanes - 4 * kLate * kLanes);
      third = second;
      second = sum;
      sum = scan(words[size_t((i - base) / kLanes)], tau, in_front);
      in_front = last_lane(d, sum);
      prefetch(x.delta + i);
      prefetch(x.t + i);
    }
    // 3. Gradients of colors, and the running sums that those of densities are differences of. Where a ray begins, the one
    // before has ended.
    V last_after = hn::Zero(d), last_sum = hn::Zero(d), before_sum = hn::Zero(d);
    size_t begun = 0;
    walk([&](int64_t i, auto load, auto put) HWY_ATTR {
      float* const at = memory + 4 * (i - base);
      const size_t number = size_t((i - base) / kLanes);
      const uint32_t word = words[number], others = word & ~kAlways & ~uint32_t(1);
      const size_t ray = begun + (word & 1);
      first_ray[number] = int32_t(ray);
      const M begins = mask_of(word);
      const V after = hn::Load(d, at + kLanes), pushed = push(after, last_after);
      const V weight = hn::Sub(hn::IfThenElse(begins, hn::Set(d, 1.0F), pushed), after);
      V red, green, blue, depth;
      if (few(others)) {
        const M old = none_of(hn::Set(du, others), 4);
        red = choose(old, &rays.red[ray]);
        green = choose(old, &rays.green[ray]);
        blue = choose(old, &rays.blue[ray]);
        depth = choose(old, &rays.depth[ray]);
      } else {
        const auto which =
            hn::BitCast(di, hn::PopulationCount(hn::And(hn::Set(du, others), hn::Load(du, kBits[4].data()))));
        hn::Store(hn::BitCast(d, which), d, at + 3 * kLanes);
        red = spread(&rays.red[ray], which);
        green = spread(&rays.green[ray], which);
        blue = spread(&rays.blue[ray], which);
        depth = spread(&rays.depth[ray], which);
      }
      V p = hn::Mul(depth, load(x.t + i));
      p = hn::MulAdd(red, load(x.rgb + i), p);
      p = hn::MulAdd(green, load(x.rgb + samples + i), p);
      p = hn::MulAdd(blue, load(x.rgb + 2 * samples + i), p);
      put(hn::Mul(weight, red), 0);
      put(hn::Mul(weight, green), 1);
      put(hn::Mul(weight, blue), 2);
      prefetch(x.rgb + i);
      prefetch(x.rgb + samples + i);
      prefetch(x.rgb + 2 * samples + i);
      const V so_far = scan(word, hn::Mul(weight, p), before_sum);
      before_sum = last_lane(d, so_far);
      hn::Store(hn::MulAdd(after, p, so_far), d, at + 2 * kLanes);
      hn::StoreU(compact(d, pushed, begins), d, &rays.left[begun]);
      hn::StoreU(compact(d, push(so_far, last_sum), begins), d, &rays.ends[begun]);
      begun += size_t(__builtin_popcount(word & ~kAlways));
    });
    rays.left[begun] = hn::GetLane(last_after);
    rays.ends[begun] = hn::GetLane(last_sum);
    // 4. Whole sums, light from behind included.
    for (size_t k = 0; k <= found; k += size_t(kLanes))
      hn::Store(
          hn::MulAdd(hn::Load(d, &rays.left[k]), hn::Load(d, &rays.behind[k]), hn::Load(d, &rays.ends[k])), d,
          &rays.total[k]);
    // 5. Gradients of densities.
    walk([&](int64_t i, auto, auto put) HWY_ATTR {
      const float* const at = memory + 4 * (i - base);
      const size_t number = size_t((i - base) / kLanes);
      const uint32_t others = words[number] & ~kAlways & ~uint32_t(1);
      const float* const totals = &rays.total[size_t(first_ray[number])];
      const V total = few(others) ? choose(none_of(hn::Set(du, others), 4), totals)
                                  : spread(totals, hn::BitCast(di, hn::Load(d, at + 3 * kLanes)));
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

KLAB_VARIANT(CompositeBwd,
             {.run = run,
              .parent = "09_shared_lanes",
              .forward = "08_threads",
              .numerics = {.growth = Growth::linear},
              .tiles = {4, 16, 512},
              .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.15},
              .when = {{1 << 15, 1 << 18}, "short rays leave lanes empty, and chains are long"}});
KLAB_SIMD_CLOSE();
#endif
