// The walk of composite_fwd and composite_loss_fwd software-pipelined: two vectors an iteration, four stages, each one iteration behind the one before: optical depths, their
// sums within rays, exponentials, weights. Included by kernel files inside Highway's foreach_target, once a target. How the
// results of rays are put together and written is the kernel's: the walk leaves them in LaneSums.
#if defined(KLAB_KERNELS_COMMON_COMPOSITE_PIPELINED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_COMPOSITE_PIPELINED_INL_H_
#undef KLAB_KERNELS_COMMON_COMPOSITE_PIPELINED_INL_H_
#else
#define KLAB_KERNELS_COMMON_COMPOSITE_PIPELINED_INL_H_
#endif

#include <algorithm>
#include <array>

#include "hwy/highway.h"
#include "kernels/common/composite/ray_lanes-inl.h"
#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kStep = 2 * kLanes;  // samples of an iteration
constexpr int64_t kLag = 3;            // iterations from the first stage to the last
constexpr int64_t kBlock = 512;        // samples whose rays are looked up together
constexpr size_t kTogether =
    kLanes < 8 ? 2 : size_t(kLanes) / 4;  // rays whose lanes are added up together; an iteration can end two
constexpr size_t kSlots = 32;             // rays that may have ended before
static_assert(kSlots % kTogether == 0 && kSlots >= 2 * kTogether + size_t(kLanes));

/// Where rays begin, a bit a sample, of two blocks of the stream.
struct Begins {
  int64_t filled_to;  // sample
  std::array<uint32_t, 2 * kBlock / kLanes> words{};

  HWY_INLINE const uint32_t* at(int64_t sample) const {
    return &words[size_t(sample) % (2 * kBlock) / size_t(kLanes)];
  }
  HWY_INLINE void mark(int64_t sample) {
    words[size_t(sample) % (2 * kBlock) / size_t(kLanes)] |= uint32_t(1) << (sample % kLanes);
  }
  /// Another block, without a mark as yet.
  HWY_INLINE void next_block() {
    std::fill_n(words.begin() + (at(filled_to) - words.data()), kBlock / kLanes, kAlways);
    filled_to += kBlock;
  }
};

/// Rays that have ended: their sums lane by lane, and the transmittance behind them.
struct LaneSums {
  HWY_ALIGN float sums[kSlots][4][16] = {};  // red, green, blue, depth
  float left[kSlots];
  size_t count = 0, added = 0;  // rays; those whose lanes have been added up

  HWY_INLINE bool ready() const { return count >= added + kTogether; }
};

/// Sums over the lanes of n vectors, 16 floats from each to the next, where a vector has n lanes: lane i has the sum of vector i.
/// A recursion, because compilers keep an array of vectors in memory.
template <int64_t n>
HWY_INLINE V sums_over_lanes(const float* p) {
  const D d;
#if HWY_TARGET != HWY_SCALAR  // one lane
  if constexpr (n > 1) {
    const V low = sums_over_lanes<n / 2>(p), high = sums_over_lanes<n / 2>(p + 16 * (n / 2));
    return hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
  }
#endif
  return hn::Load(d, p);
}

/// The sums of the next rays that have ended, kTogether of them, four a ray.
HWY_INLINE void add_lanes(const LaneSums& ended, float* sums) {
  const float* const from = ended.sums[ended.added % kSlots][0];
  for (size_t i = 0; i < 4 * kTogether; i += size_t(kLanes))
    hn::StoreU(sums_over_lanes<kLanes>(from + 16 * i), D(), sums + i);
}

/// Whether distances are summed, too: only for ops that have them.
template <class Args>
constexpr bool kDepth = requires(Args x) {
  x.t;
};

/// State carried from iteration to iteration: two vectors of every stage's results, and the stages' carries.
/// Has no arrays, because compilers keep them in memory.
struct State {
  V tau0, tau1, behind0, behind1, after0,
      after1;                                // optical depths, their sums, transmittances behind the samples
  const uint32_t *begins, *begins_of_after;  // of `behind` and `after`
  V in_front;                                // sum of optical depths, in all lanes
  V turned;                                  // the last transmittances, one lane up
  V red, green, blue, depth;                 // sums of the rays that have not ended
};

/// Last stage: weighs samples [k, k + kLanes), given the transmittances `after` behind them.
template <bool kPrefetch, class Args, class Ended, class Load>
HWY_INLINE void weigh(const Args& x, Ended& ended, State& s, V after, uint32_t word, int64_t k, Load load) {
  const D d;
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
  const V red = load(x.rgb, k), green = load(x.rgb + n, k), blue = load(x.rgb + 2 * n, k);
  const auto add = [d, weight, old, all_old](V& sum, V value, float* to) HWY_ATTR {
    sum = hn::IfThenElse(old, hn::MulAdd(weight, value, sum), sum);
    hn::Store(sum, d, to);
    sum = hn::IfThenElseZero(all_old, sum);
    sum = hn::IfThenElse(old, sum, hn::MulAdd(weight, value, sum));
  };
  add(s.red, red, ended.sums[slot][0]);
  add(s.green, green, ended.sums[slot][1]);
  add(s.blue, blue, ended.sums[slot][2]);
  if constexpr (kDepth<Args>) add(s.depth, load(x.t, k), ended.sums[slot][3]);
  if constexpr (kPrefetch) {
    prefetch(x.rgb + k);
    prefetch(x.rgb + n + k);
    prefetch(x.rgb + 2 * n + k);
    if constexpr (kDepth<Args>) prefetch(x.t + k);
  }
  // The ray that ends here left off one lane below the first beginning. Without one it is some number, and the slot is
  // written again.
  ended.left[slot] = left[uint32_t(__builtin_ctz(word)) % 16];
  ended.count += word != kAlways;
  uint32_t rest = word & (word - 1) & ~kAlways;  // beginnings but the first
  if (HWY_LIKELY(rest == 0)) return;
  const V add_red = hn::Mul(weight, red), add_green = hn::Mul(weight, green),
          add_blue = hn::Mul(weight, blue);
  V add_depth = hn::Zero(d);
  if constexpr (kDepth<Args>) add_depth = hn::Mul(weight, load(x.t, k));
  uint32_t from = word & (0 - word);
  for (; rest != 0; rest &= rest - 1) {
    const uint32_t to = rest & (0 - rest);
    const M inside = mask_of(to - from);
    const size_t at = ended.count++ % kSlots;
    hn::Store(hn::IfThenElseZero(inside, add_red), d, ended.sums[at][0]);
    hn::Store(hn::IfThenElseZero(inside, add_green), d, ended.sums[at][1]);
    hn::Store(hn::IfThenElseZero(inside, add_blue), d, ended.sums[at][2]);
    if constexpr (kDepth<Args>) hn::Store(hn::IfThenElseZero(inside, add_depth), d, ended.sums[at][3]);
    ended.left[at] = left[__builtin_ctz(to)];
    from = to;
  }
  const M young = mask_of(0 - from);
  s.red = hn::IfThenElseZero(young, add_red);
  s.green = hn::IfThenElseZero(young, add_green);
  s.blue = hn::IfThenElseZero(young, add_blue);
  s.depth = hn::IfThenElseZero(young, add_depth);
  while (ended.ready()) write(ended, kTogether);
}

/// An iteration of all stages; the first takes samples [k, k + kStep). kIn, kOut: whether there is anything for the first, the
/// last stage. kPrefetch: prefetches samples to come, of which those past the end do no harm.
template <bool kIn, bool kOut, bool kPrefetch, class Args, class Rays, class Ended, class Load>
HWY_INLINE void iterate(const Args& x, Rays& rays, Ended& ended, State& s, int64_t k, Load load) {
  const D d;
  if constexpr (kOut) {
    weigh<kPrefetch>(x, ended, s, s.after0, s.begins_of_after[0], k - kLag * kStep, load);
    weigh<kPrefetch>(x, ended, s, s.after1, s.begins_of_after[1], k - kLag * kStep + kLanes, load);
    if (ended.ready()) write(ended, kTogether);
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
    if constexpr (kPrefetch) {
      prefetch(x.density_raw + k);
      prefetch(x.density_raw + k + kLanes);
      prefetch(x.delta + k);
      prefetch(x.delta + k + kLanes);
    }
  } else {
    s.tau0 = s.tau1 = hn::Zero(d);
  }
}

/// Samples [start, end), start a multiple of kStep. Rays: Begins with look_up(), which marks the rays that
/// begin in the next block of the stream; the first block must be marked. Ended: LaneSums, for which
/// write(ended, count) adds up and writes the next `count` rays, kTogether at most. Lanes of the first
/// iteration may belong to other rays: they come first, as if they were one.
template <class Args, class Rays, class Ended>
HWY_INLINE void walk_in_turns(const Args& x, int64_t start, int64_t end, Rays& rays, Ended& ended) {
  const D d;
  const int64_t samples = x.shape.samples;
  const V zero = hn::Zero(d);
  const uint32_t* begins = rays.at(start);
  State s{zero, zero, zero, zero, zero, zero, begins, begins, zero, zero, zero, zero, zero, zero};
  const auto whole = [d](const float* p, int64_t k) HWY_ATTR { return hn::LoadU(d, p + k); };
  const auto part = [d, samples](const float* p, int64_t k) HWY_ATTR {
    return load_first(d, p + std::min(k, samples), size_t(std::clamp<int64_t>(samples - k, 0, kLanes)));
  };
  const int64_t full = start + kLag * kStep;                         // all stages have something to do
  const int64_t stop = start + ((end - start) / kStep + 1) * kStep;  // behind the iteration that holds `end`
  const int64_t steady =
      std::min(stop, start + (samples - start) / kStep * kStep);  // iterations that can be loaded whole
  int64_t k = start;
  for (; k < std::min(steady, full); k += kStep) iterate<true, false, false>(x, rays, ended, s, k, whole);
  for (; k < steady; k += kStep) iterate<true, true, true>(x, rays, ended, s, k, whole);
  for (; k < stop + kLag * kStep; k += kStep) {
    if (k < stop) {
      k < full ? iterate<true, false, false>(x, rays, ended, s, k, part)
               : iterate<true, true, false>(x, rays, ended, s, k, part);
    } else {
      k < full ? iterate<false, false, false>(x, rays, ended, s, k, part)
               : iterate<false, true, false>(x, rays, ended, s, k, part);
    }
  }
  while (ended.added < ended.count) write(ended, std::min(kTogether, ended.count - ended.added));
}

constexpr size_t kRoom = 128;  // rays whose sums wait for their line

/// The rays [next, last) of a thread, located a block of the stream at a time.
struct RaysByBlock : Begins {
  const int32_t* ray_begin;
  int64_t next, last;

  HWY_NOINLINE void look_up() {
    const int64_t from = filled_to, end = ray_begin[last];
    next_block();
    for (; next < last && ray_begin[next] < filled_to; ++next) mark(ray_begin[next]);
    if (from <= end && end < filled_to) mark(end);
  }
};

/// Rays with samples that have ended but are not written yet: sums and transmittances, in their order, until
/// all rays of a line have ended.
struct LineSums : LaneSums {
  const int32_t* ray_begin;
  int64_t next, last;  // rays still to be written, without samples or with
  size_t taken = 0;    // of `added`, how many are written
  size_t base = 0;     // the one in totals[0]
  HWY_ALIGN float totals[kRoom + size_t(kLanes)][4];
  HWY_ALIGN float behind[kRoom + size_t(kLanes)];

  LineSums(const int32_t* begins, int64_t first_ray, int64_t last_ray)
      : ray_begin(begins), next(first_ray), last(last_ray) {}

  /// Rays [next, next + count), lanes of one vector at most, if all of them have ended: step(next, count, through, red, green,
  /// blue, depth) with transmittances, 1 of rays without samples, and sums without the background.
  template <class Step>
  HWY_INLINE bool take_line(Step&& step) {
    const D d;
    const DI di;
    const DU du;
    const int64_t r = next, end = std::min(last, (r / kLanes + 1) * kLanes);
    const size_t count_of_line = size_t(end - r), at = taken - base;
    const M some = hn::RebindMask(d, hn::Lt(load_first(di, ray_begin + r, count_of_line),
                                            load_first(di, ray_begin + r + 1, count_of_line)));
    const size_t with_samples = hn::CountTrue(d, some);
    if (taken + with_samples > added) return false;
    // The ray in a lane comes after as many others with samples as there are below it.
    HWY_ALIGN uint64_t bits[1] = {};
    hn::StoreMaskBits(d, some, reinterpret_cast<uint8_t*>(bits));
    const U before = hn::And(hn::Set(du, uint32_t(bits[0]) << 1), hn::Load(du, kBits[4].data()));
    const auto which = hn::IndicesFromVec(d, hn::BitCast(di, hn::PopulationCount(before)));
    const auto pick = [&](V v) HWY_ATTR { return hn::IfThenElseZero(some, hn::TableLookupLanes(v, which)); };
    V red, green, blue, depth;
    hn::LoadInterleaved4(d, totals[at], red, green, blue, depth);
    const V through =
        hn::IfThenElse(some, hn::TableLookupLanes(hn::LoadU(d, behind + at), which), hn::Set(d, 1.0F));
    step(r, count_of_line, through, pick(red), pick(green), pick(blue), pick(depth));
    taken += with_samples;
    next = end;
    return true;
  }
};

/// Adds the lanes of the next `count` rays that have ended, kTogether at most, and writes the lines that are
/// complete. Lines: LineSums with write_line(), which writes one by take_line and returns whether there was
/// one.
template <class Lines>
HWY_INLINE void write_lines(Lines& e, size_t count) {
  const size_t to = e.added - e.base;
  add_lanes(e, e.totals[to]);
  std::copy_n(e.left + e.added % kSlots, kTogether, e.behind + to);
  e.added += count;
  while (e.next < e.last && e.write_line()) {
  }
  if (e.added - e.base + kTogether > kRoom) {  // fewer than a vector still wait
    const size_t waiting = e.added - e.taken;
    std::copy_n(e.totals[e.taken - e.base], 4 * waiting, e.totals[0]);
    std::copy_n(e.behind + (e.taken - e.base), waiting, e.behind);
    e.base = e.taken;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
