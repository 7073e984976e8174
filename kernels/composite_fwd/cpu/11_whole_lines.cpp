// composite_fwd.cpu.11_whole_lines: results wait until there is a line of them.
//
// CHANGE    sums of rays that have ended are kept, in their order, until a line of neighbors is complete.
//           Then lanes are rays: those without samples are found by comparing where they and their successors
//           begin, the sums of the others are spread over the rest, the background is added, and five lines
//           of results are written whole; they bypass the caches if these would not keep them. The parent
//           writes each number of each ray separately, and those of rays without samples beforehand.
// EXPECT    sixteen rays take some 50 instructions in place of 16 times 40. At 32 samples per ray that is
//           1.05 times within the caches. Beyond them as much again or a little more: no line is read only to
//           be overwritten.
// NUMERICS  as the parent, but for the background, which is added with one rounding.
// NEEDS     as its parent.
// TRIED     see NOTES.md, cpu.11_whole_lines
#include <algorithm>
#include <array>

#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/simd.h"
#include "reference/composite_fwd/composite_fwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/composite/pipelined-inl.h"

KLAB_SIMD_BEGIN();

/// Rays that have ended, written a line at a time.
struct Ended : LineSums {
  const CompositeFwd::Args<float>& x;
  bool stream;

  Ended(const CompositeFwd::Args<float>& args, int64_t first_ray, int64_t last_ray, bool far)
      : LineSums(args.ray_begin, first_ray, last_ray), x(args) {
    const float* const rows[] = {x.color, x.color + x.shape.rays, x.color + 2 * x.shape.rays, x.opacity,
                                 x.depth};
    stream = far && std::all_of(std::begin(rows), std::end(rows),
                                [](const float* p) { return reinterpret_cast<uintptr_t>(p) % 64 == 0; });
  }

  HWY_INLINE bool write_line() {
    return take_line([&](int64_t r, size_t few, V through, V red, V green, V blue, V depth) HWY_ATTR {
      const D d;
      const int64_t n = x.shape.rays;
      const auto put = [&](V v, float* p) HWY_ATTR {
        if (few < size_t(kLanes))
          store_first(v, d, p + r, few);
        else if (stream)
          hn::Stream(v, d, p + r);
        else
          hn::StoreU(v, d, p + r);
      };
      const auto shine = [&](V sum, int64_t c) HWY_ATTR {
        const V background = load_first(d, x.background + c * n + r, few);
        put(hn::MulAdd(through, background, sum), x.color + c * n);
        __builtin_prefetch(x.background + c * n + r + kRaysAhead);  // past the end it does no harm
      };
      shine(red, 0);
      shine(green, 1);
      shine(blue, 2);
      put(hn::Sub(hn::Set(d, 1.0F), through), x.opacity);
      put(depth, x.depth);
      __builtin_prefetch(x.ray_begin + r + kRaysAhead + kLanes);
    });
  }
};

/// Not inlined: the walk needs its registers.
HWY_NOINLINE void write(Ended& ended, size_t count) { write_lines(ended, count); }

/// Rays [first, last). far: there are more samples than a cache keeps. Turns begin at multiples of kStep in
/// the stream, so lanes of the first may belong to rays before `first`: their sums end where `first` begins,
/// and are dropped.
void composite(const CompositeFwd::Args<float>& x, bool far, int64_t first, int64_t last) {
  const int64_t start = x.ray_begin[first] / kStep * kStep, end = x.ray_begin[last];
  RaysByBlock rays{{start / kBlock * kBlock}, x.ray_begin, first, last};
  rays.look_up();
  Ended ended(x, first, last, far);
  if (x.ray_begin[first] == end) return write(ended, 0);
  ended.taken = 1;
  walk_in_turns(x, start, end, rays, ended);
  if (far) hwy::FlushStream();
}

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeFwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kFar = 1 << 21;  // samples: with fewer, results are still in a cache when they are wanted
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  parallel_rays(x.ray_begin, x.shape.rays, x.shape.samples >= kWorthThreads,
                [&](int64_t begin, int64_t end) { part(x, x.shape.samples >= kFar, begin, end); });
}

KLAB_VARIANT(CompositeFwd, {.run = run,
                            .parent = "10_software_pipelined",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16, 32, 128, 512},
                            .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.05},
                            .when = {{1 << 15, 1 << 18}, "results are many"}});
KLAB_SIMD_CLOSE();
#endif
