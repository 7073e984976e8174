// composite_fwd.cpu.10_staggered: one walk after all, its four stages each two vectors behind the one before.
//
// CHANGE    a turn takes optical depths of two vectors, sums those of the two before, exponentials of the two before
//           these, and weighs samples of the two before these: four stages that do not wait for each other. Color and
//           depth are added up lane by lane. Where a ray ends, the lanes are set down as they are, whether one ends or
//           not, and after a few rays added up together.
// EXPECT    no branch but at vectors in which a ray both begins and ends, nothing between stages but registers, and
//           memory asked for evenly, a line a stream and vector: the parent asks in bursts and idles in between. 1.15
//           times or more where rays are of middling length. A loss where rays are so long that 08 can stop at opaque
//           samples, and that neither has many ends.
// NUMERICS  sums grouped by the place in the stream, the same for any number of threads.
// NEEDS     many registers; with fewer than 32 what goes from turn to turn waits in L1.
// TRIED     sums over lanes at every vector, needed or not, with no branch left: equal. Sums of sixteen rays at a time in
//           place of four: a few percent slower from memory. Which lanes belong together told by integers on their way
//           to mask registers, in place of tests of vectors: slower. Asking for L2 only, or farther ahead: no gain.
//           Runs of twelve lines of one stream after the other, in place of two of each: a quarter slower. Shares of
//           rays that get smaller, as composite_bwd.08: equal.
#include <omp.h>

#include <algorithm>
#include <array>

#include "harness/registrar.h"
#include "kernels/common/ray_split.h"
#include "reference/composite_fwd/composite_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/composite_fwd/cpu/10_staggered.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"
#include "kernels/common/ray_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kStep = 2 * kLanes;  // samples of a turn
constexpr int64_t kLag = 3;            // turns from the first stage to the last
constexpr int64_t kBlock = 512;        // samples whose rays are looked up together
constexpr int64_t kLine = 16;          // floats of a cache line
constexpr int64_t kAhead = 384;        // samples asked for before their turn
constexpr size_t kTogether =
    kLanes < 8 ? 2 : size_t(kLanes) / 4;  // rays whose lanes are added up together: a turn may end two
constexpr size_t kSlots = 32;             // rays that may have ended before
static_assert(kSlots % kTogether == 0 && kSlots >= 2 * kTogether + size_t(kLanes));

/// The rays [next, last) of a thread, looked up a block of the stream at a time.
struct Rays {
  const CompositeFwd::Args<float>& x;
  int64_t next, last;
  int64_t filled_to;                                  // sample
  std::array<uint32_t, 2 * kBlock / kLanes> words{};  // of the vectors of two blocks
  std::array<int32_t, 2 * kBlock> ended_ray;          // rays that have samples, in the order they will end
  size_t found = 1;  // of these; before them stands what ends where the first begins

  HWY_INLINE const uint32_t* at(int64_t sample) const {
    return &words[size_t(sample) % (2 * kBlock) / size_t(kLanes)];
  }
  HWY_INLINE void mark(int64_t sample) {
    words[size_t(sample) % (2 * kBlock) / size_t(kLanes)] |= uint32_t(1) << (sample % kLanes);
  }
  /// Another block. Every ray in it is written as if it had no samples: those that have are written again. Asks for what
  /// belongs to about as many rays behind it.
  HWY_NOINLINE void look_up() {
    const int64_t from = filled_to, rays = x.shape.rays, end = x.ray_begin[last];
    filled_to += kBlock;
    std::fill_n(words.begin() + (at(from) - words.data()), kBlock / kLanes, kAlways);
    int64_t r = next;
    for (; r < last && x.ray_begin[r] < filled_to; ++r) {
      mark(x.ray_begin[r]);
      ended_ray[found % ended_ray.size()] = int32_t(r);
      found += x.ray_begin[r + 1] > x.ray_begin[r];
      for (int64_t c = 0; c < 3; ++c) x.color[c * rays + r] = x.background[c * rays + r];
      x.opacity[r] = x.depth[r] = 0;
    }
    if (from <= end && end < filled_to) mark(end);
    for (int64_t soon = r; soon < 2 * r - next + kLine; soon += kLine) {
      __builtin_prefetch(x.ray_begin + soon + (r - next));
      for (int64_t c = 0; c < 3; ++c) {
        __builtin_prefetch(x.background + c * rays + soon);
        __builtin_prefetch(x.color + c * rays + soon, 1);
      }
      __builtin_prefetch(x.opacity + soon, 1);
      __builtin_prefetch(x.depth + soon, 1);
    }
    next = r;
  }
};

/// Rays that have ended: lane by lane what they have added up, and the transmittance left behind them.
struct Ended {
  HWY_ALIGN float sums[kSlots][4][16];
  float left[kSlots];
  size_t count = 0, written = 0;
};

/// Sums over the lanes of kLanes vectors, 16 floats from each to the next.
HWY_INLINE V sums_over_lanes(const float* p) {
  const D d;
  V v[size_t(kLanes)];
  for (size_t i = 0; i < size_t(kLanes); ++i) v[i] = hn::Load(d, p + 16 * i);
#if HWY_TARGET != HWY_SCALAR
  for (size_t n = size_t(kLanes) / 2; n > 0; n /= 2)
    for (size_t i = 0; i < n; ++i)
      v[i] = hn::Add(hn::ConcatEven(d, v[2 * i + 1], v[2 * i]), hn::ConcatOdd(d, v[2 * i + 1], v[2 * i]));
#endif
  return v[0];
}

/// Writes the next `count` rays that have ended, kTogether at most. Not inlined: the walk needs its registers.
HWY_NOINLINE void write(const Rays& rays, Ended& ended, size_t count) {
  const auto& x = rays.x;
  const int64_t n = x.shape.rays;
  const size_t slot = ended.written % kSlots;
  HWY_ALIGN float sums[4 * kTogether];
  for (size_t i = 0; i < 4 * kTogether; i += size_t(kLanes))
    hn::Store(sums_over_lanes(ended.sums[slot][0] + 16 * i), D(), sums + i);
  const int32_t* ray = &rays.ended_ray[ended.written % rays.ended_ray.size()];
  for (size_t j = 0; j < count; ++j) {
    const int64_t r = ray[j];
    const float left = ended.left[slot + j], *sum = sums + 4 * j, *background = x.background + r;
    const float red = sum[0] + left * background[0], green = sum[1] + left * background[n];
    const float blue = sum[2] + left * background[2 * n];
    x.color[r] = red;
    x.color[n + r] = green;
    x.color[2 * n + r] = blue;
    x.opacity[r] = 1 - left;
    x.depth[r] = sum[3];
  }
  ended.written += count;
}

/// What goes from turn to turn: two vectors of every stage's results, and what the stages carry on. No arrays, which
/// compilers keep in memory.
struct State {
  V tau0, tau1, behind0, behind1, after0,
      after1;                                // optical depths, their sums, transmittances behind the samples
  const uint32_t *begins, *begins_of_after;  // of `behind` and `after`
  V in_front;                                // sum of optical depths, in all lanes
  V turned;                                  // the last transmittances, one lane up
  V red, green, blue, depth;                 // sums of the rays that have not ended
};

HWY_INLINE void ask(const float* p) { __builtin_prefetch(p + kAhead); }

/// The last stage: samples [k, k + kLanes), whose transmittances behind them are `after`.
template <bool kAsk, class Load>
HWY_INLINE void weigh(const Rays& rays, Ended& ended, State& s, V after, uint32_t word, int64_t k,
                      Load load) {
  const D d;
  const auto& x = rays.x;
  const V turned = lanes_up(d, after, 1);
  const V before = hn::IfThenElse(hn::FirstN(d, 1), s.turned, turned);
  s.turned = turned;
  HWY_ALIGN float left[16];
  hn::Store(before, d, left);
  const U begins = hn::Set(DU(), word);
  const V weight = hn::Sub(hn::IfThenElse(none_of(begins, 5), before, hn::Set(d, 1.0F)), after);
  const M old = none_of(begins, 4), all_old = hn::RebindMask(d, hn::Eq(begins, hn::Set(DU(), kAlways)));
  const int64_t n = x.shape.samples;
  const size_t slot = ended.count % kSlots;
  const V red = load(x.rgb, k), green = load(x.rgb + n, k), blue = load(x.rgb + 2 * n, k), t = load(x.t, k);
  const auto add = [d, weight, old, all_old](V& sum, V value, float* to) HWY_ATTR {
    sum = hn::IfThenElse(old, hn::MulAdd(weight, value, sum), sum);
    hn::Store(sum, d, to);
    sum = hn::IfThenElseZero(all_old, sum);
    sum = hn::IfThenElse(old, sum, hn::MulAdd(weight, value, sum));
  };
  add(s.red, red, ended.sums[slot][0]);
  add(s.green, green, ended.sums[slot][1]);
  add(s.blue, blue, ended.sums[slot][2]);
  add(s.depth, t, ended.sums[slot][3]);
  if constexpr (kAsk) {
    ask(x.rgb + k);
    ask(x.rgb + n + k);
    ask(x.rgb + 2 * n + k);
    ask(x.t + k);
  }
  // The ray that ends here left off one lane below the first beginning. Without one it is some number, and the slot is
  // written again.
  ended.left[slot] = left[uint32_t(__builtin_ctz(word)) % 16];
  ended.count += word != kAlways;
  uint32_t rest = word & (word - 1) & ~kAlways;  // beginnings but the first
  if (HWY_LIKELY(rest == 0)) return;
  const V add_red = hn::Mul(weight, red), add_green = hn::Mul(weight, green),
          add_blue = hn::Mul(weight, blue);
  const V add_depth = hn::Mul(weight, t);
  uint32_t from = word & (0 - word);
  for (; rest != 0; rest &= rest - 1) {
    const uint32_t to = rest & (0 - rest);
    const M inside = mask_of(to - from);
    const size_t at = ended.count++ % kSlots;
    hn::Store(hn::IfThenElseZero(inside, add_red), d, ended.sums[at][0]);
    hn::Store(hn::IfThenElseZero(inside, add_green), d, ended.sums[at][1]);
    hn::Store(hn::IfThenElseZero(inside, add_blue), d, ended.sums[at][2]);
    hn::Store(hn::IfThenElseZero(inside, add_depth), d, ended.sums[at][3]);
    ended.left[at] = left[__builtin_ctz(to)];
    from = to;
  }
  const M young = mask_of(0 - from);
  s.red = hn::IfThenElseZero(young, add_red);
  s.green = hn::IfThenElseZero(young, add_green);
  s.blue = hn::IfThenElseZero(young, add_blue);
  s.depth = hn::IfThenElseZero(young, add_depth);
  while (ended.count >= ended.written + kTogether) write(rays, ended, kTogether);
}

/// A turn of all stages; the first takes samples [k, k + kStep). kIn, kOut: whether there is anything for the first, the
/// last stage. kAsk: asks for samples to come, of which those past the end do no harm.
template <bool kIn, bool kOut, bool kAsk, class Load>
HWY_INLINE void turn(Rays& rays, Ended& ended, State& s, int64_t k, Load load) {
  const D d;
  const auto& x = rays.x;
  if constexpr (kOut) {
    weigh<kAsk>(rays, ended, s, s.after0, s.begins_of_after[0], k - kLag * kStep, load);
    weigh<kAsk>(rays, ended, s, s.after1, s.begins_of_after[1], k - kLag * kStep + kLanes, load);
    if (ended.count >= ended.written + kTogether) write(rays, ended, kTogether);
  }
  s.after0 = exp_minus(d, s.behind0);
  s.after1 = exp_minus(d, s.behind1);
  s.begins_of_after = s.begins;
  if (k - kStep >= rays.filled_to) rays.look_up();
  s.begins = rays.at(k - kStep);
  s.behind0 = scan(s.begins[0], s.tau0, s.in_front);
  s.behind1 = scan(s.begins[1], s.tau1, last_lane(d, s.behind0));
  s.in_front = last_lane(d, s.behind1);
  if constexpr (kIn) {
    s.tau0 = hn::Mul(exp_saturated(d, load(x.density_raw, k)), load(x.delta, k));
    s.tau1 = hn::Mul(exp_saturated(d, load(x.density_raw, k + kLanes)), load(x.delta, k + kLanes));
    if constexpr (kAsk) {
      ask(x.density_raw + k);
      ask(x.density_raw + k + kLanes);
      ask(x.delta + k);
      ask(x.delta + k + kLanes);
    }
  } else {
    s.tau0 = s.tau1 = hn::Zero(d);
  }
}

/// Rays [first, last). Turns begin at multiples of kStep in the stream, so lanes of the first may belong to rays before
/// `first`. What ends where `first` begins is written as the first ray with samples, which is written once more later.
void composite(const CompositeFwd::Args<float>& x, int64_t first, int64_t last) {
  const D d;
  const int64_t samples = x.shape.samples, start = x.ray_begin[first] / kStep * kStep,
                end = x.ray_begin[last];
  Rays rays{x, first, last, start / kBlock * kBlock};
  rays.look_up();
  if (x.ray_begin[first] == end) return;
  rays.ended_ray[0] = rays.ended_ray[1];
  Ended ended;
  const V zero = hn::Zero(d);
  const uint32_t* begins = rays.at(start);
  State s{zero, zero, zero, zero, zero, zero, begins, begins, zero, zero, zero, zero, zero, zero};
  const auto whole = [d](const float* p, int64_t k) HWY_ATTR { return hn::LoadU(d, p + k); };
  const auto part = [d, samples](const float* p, int64_t k) HWY_ATTR {
    return load_first(d, p + std::min(k, samples), size_t(std::clamp<int64_t>(samples - k, 0, kLanes)));
  };
  const int64_t full = start + kLag * kStep;                         // all stages have something to do
  const int64_t stop = start + ((end - start) / kStep + 1) * kStep;  // behind the turn that holds `end`
  const int64_t steady =
      std::min(stop, start + (samples - start) / kStep * kStep);  // turns that can be loaded whole
  int64_t k = start;
  for (; k < std::min(steady, full); k += kStep) turn<true, false, false>(rays, ended, s, k, whole);
  for (; k < steady; k += kStep) turn<true, true, true>(rays, ended, s, k, whole);
  for (; k < stop + kLag * kStep; k += kStep) {
    if (k < stop) {
      k < full ? turn<true, false, false>(rays, ended, s, k, part)
               : turn<true, true, false>(rays, ended, s, k, part);
    } else {
      k < full ? turn<false, false, false>(rays, ended, s, k, part)
               : turn<false, true, false>(rays, ended, s, k, part);
    }
  }
  while (ended.written < ended.count) write(rays, ended, std::min(kTogether, ended.count - ended.written));
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(composite);
void run(const CompositeFwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
#pragma omp parallel if (x.shape.samples >= kWorthThreads)
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    part(x, split_rays(x.ray_begin, x.shape.rays, k, parts),
         split_rays(x.ray_begin, x.shape.rays, k + 1, parts));
  }
}

KLAB_VARIANT(CompositeFwd, {.run = run,
                            .parent = "09_segments",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16, 32, 512},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.15}});

}  // namespace
}  // namespace klab
#endif
