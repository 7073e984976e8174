// composite_fwd.cpu.11_whole_lines: results wait until there is a line of them.
//
// CHANGE    sums of rays that have ended are kept, in their order, until a line of neighbors is complete. Then lanes are
//           rays: those without samples are found by comparing where they and their successors begin, the sums of the others
//           are spread over what is left, the background is added, and five lines of results leave whole, past the caches
//           where these would not keep them. The parent writes each number of each ray by itself, and those of rays without
//           samples beforehand.
// EXPECT    sixteen rays take some 50 instructions in place of 16 times 40. At 32 samples a ray that is 1.05 times within
//           the caches. Beyond them as much again or a little more: no line is read only to be overwritten.
// NUMERICS  as the parent, but for the background, which is added with one rounding.
// NEEDS     as its parent.
// TRIED     see NOTES.md, cpu.11_whole_lines
#include <omp.h>

#include <algorithm>
#include <array>

#include "harness/core/registrar.h"
#include "kernels/common/ray_split.h"
#include "reference/composite_fwd/composite_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/composite_fwd/cpu/11_whole_lines.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/composite_turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DI = hn::RebindToSigned<D>;

constexpr size_t kRoom = 128;       // rays whose sums wait for their line
constexpr int64_t kRaysAhead = 64;  // rays asked for before their turn

/// The rays [next, last) of a thread, looked up a block of the stream at a time.
struct Rays : Begins {
  const CompositeFwd::Args<float>& x;
  int64_t next, last;

  HWY_NOINLINE void look_up() {
    const int64_t from = filled_to, end = x.ray_begin[last];
    next_block();
    for (; next < last && x.ray_begin[next] < filled_to; ++next) mark(x.ray_begin[next]);
    if (from <= end && end < filled_to) mark(end);
  }
};

/// What has ended and is not yet written: sums and transmittances of rays with samples, in their order.
struct Ended : LaneSums {
  const CompositeFwd::Args<float>& x;
  int64_t next, last;  // rays still to be written, without samples or with
  bool stream;
  size_t taken = 0;  // of `added`, how many are written
  size_t base = 0;   // the one in totals[0]
  HWY_ALIGN float totals[kRoom + size_t(kLanes)][4];
  HWY_ALIGN float behind[kRoom + size_t(kLanes)];

  Ended(const CompositeFwd::Args<float>& args, int64_t first_ray, int64_t last_ray, bool far)
      : x(args), next(first_ray), last(last_ray) {
    const float* const rows[] = {x.color, x.color + x.shape.rays, x.color + 2 * x.shape.rays, x.opacity,
                                 x.depth};
    stream = far && std::all_of(std::begin(rows), std::end(rows),
                                [](const float* p) { return reinterpret_cast<uintptr_t>(p) % 64 == 0; });
  }

  /// Rays [next, end), lanes of one vector at most, if all of them have ended.
  HWY_INLINE bool write_line() {
    const D d;
    const DI di;
    const DU du;
    const int64_t n = x.shape.rays, r = next, end = std::min(last, (r / kLanes + 1) * kLanes);
    const size_t rays = size_t(end - r), at = taken - base;
    const M some = hn::RebindMask(
        d, hn::Lt(load_first(di, x.ray_begin + r, rays), load_first(di, x.ray_begin + r + 1, rays)));
    const size_t with_samples = hn::CountTrue(d, some);
    if (taken + with_samples > added) return false;
    // The ray in a lane comes after as many others with samples as there are below it.
    HWY_ALIGN uint64_t bits[1] = {};
    hn::StoreMaskBits(d, some, reinterpret_cast<uint8_t*>(bits));
    const U before = hn::And(hn::Set(du, uint32_t(bits[0]) << 1), hn::Load(du, kBits[4].data()));
    const auto which = hn::IndicesFromVec(d, hn::BitCast(di, hn::PopulationCount(before)));
    const auto spread = [&](V v)
                            HWY_ATTR { return hn::IfThenElseZero(some, hn::TableLookupLanes(v, which)); };
    const auto put = [&](V v, float* p) HWY_ATTR {
      if (rays < size_t(kLanes))
        store_first(v, d, p + r, rays);
      else if (stream)
        hn::Stream(v, d, p + r);
      else
        hn::StoreU(v, d, p + r);
    };
    V red, green, blue, depth;
    hn::LoadInterleaved4(d, totals[at], red, green, blue, depth);
    const V one = hn::Set(d, 1.0F);
    const V through = hn::IfThenElse(some, hn::TableLookupLanes(hn::LoadU(d, behind + at), which), one);
    const auto shine = [&](V sum, int64_t c) HWY_ATTR {
      const V background = load_first(d, x.background + c * n + r, rays);
      put(hn::MulAdd(through, background, spread(sum)), x.color + c * n);
      __builtin_prefetch(x.background + c * n + r + kRaysAhead);  // past the end it does no harm
    };
    shine(red, 0);
    shine(green, 1);
    shine(blue, 2);
    put(hn::Sub(one, through), x.opacity);
    put(spread(depth), x.depth);
    __builtin_prefetch(x.ray_begin + r + kRaysAhead + kLanes);
    taken += with_samples;
    next = end;
    return true;
  }
};

/// Adds the lanes of the next `count` rays that have ended, kTogether at most, and writes the lines that are complete. Not
/// inlined: the walk needs its registers.
HWY_NOINLINE void write(Ended& e, size_t count) {
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

/// Rays [first, last). far: there are more samples than a cache keeps. Turns begin at multiples of kStep in the stream, so
/// lanes of the first may belong to rays before `first`: what they add up ends where `first` begins, and is nobody's.
void composite(const CompositeFwd::Args<float>& x, bool far, int64_t first, int64_t last) {
  const int64_t start = x.ray_begin[first] / kStep * kStep, end = x.ray_begin[last];
  Rays rays{{start / kBlock * kBlock}, x, first, last};
  rays.look_up();
  Ended ended(x, first, last, far);
  if (x.ray_begin[first] == end) return write(ended, 0);
  ended.taken = 1;
  walk_in_turns(x, start, end, rays, ended);
  if (far) hwy::FlushStream();
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
  constexpr int64_t kFar = 1 << 21;  // samples: with fewer, results are still in a cache when they are wanted
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
#pragma omp parallel if (x.shape.samples >= kWorthThreads)
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    part(x, x.shape.samples >= kFar, split_rays(x.ray_begin, x.shape.rays, k, parts),
         split_rays(x.ray_begin, x.shape.rays, k + 1, parts));
  }
}

KLAB_VARIANT(CompositeFwd, {.run = run,
                            .parent = "10_staggered",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16, 32, 128, 512},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.05},
                            .when = {{1 << 15, 1 << 18}, "results are many"}});

}  // namespace
}  // namespace klab
#endif
