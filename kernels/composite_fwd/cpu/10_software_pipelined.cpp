// composite_fwd.cpu.10_software_pipelined: one walk after all, its four stages each two vectors behind the
// one before.
//
// CHANGE    an iteration computes optical depths of two vectors, sums those of the two before, takes
//           exponentials of the two before these, and weighs samples of the two before these: four stages
//           that do not wait for each other. Color and depth are added up lane by lane. The lanes are stored
//           after every vector, whether a ray ends or not, and added up together after a few rays.
// EXPECT    a branch only for vectors in which a ray both begins and ends, only registers between stages, and
//           memory prefetched evenly, a line for each stream and vector: the parent prefetches in bursts and
//           idles in between. 1.15 times or more where rays are of middling length. A loss where rays are so
//           long that 08 can stop at opaque samples, and that neither has many ends.
// NUMERICS  sums grouped by the place in the stream, the same for any number of threads.
// NEEDS     many registers; with fewer than 32 the state between iterations waits in L1.
// TRIED     see NOTES.md, cpu.10_software_pipelined
#include <algorithm>
#include <array>

#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/simd.h"
#include "reference/composite_fwd/composite_fwd.h"

#include "kernels/common/composite/pipelined-inl.h"

KLAB_SIMD_BEGIN();

/// The rays [next, last) of a thread, located a block of the stream at a time.
struct Rays : Begins {
  const CompositeFwd::Args<float>& x;
  int64_t next, last;
  std::array<int32_t, 2 * kBlock> ended_ray;  // rays that have samples, in the order they will end
  // rays found; before them the one that ends where the first begins
  size_t found = 1;

  /// Locates another block. Writes every ray in it as if it had no samples; those that have samples are
  /// written again. Prefetches the inputs of about as many rays after it.
  HWY_NOINLINE void look_up() {
    const int64_t from = filled_to, rays = x.shape.rays, end = x.ray_begin[last];
    next_block();
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

struct Ended : LaneSums {
  const Rays& rays;
  explicit Ended(const Rays& of) : rays(of) {}
};

/// Writes the next `count` rays that have ended, kTogether at most. Not inlined: the walk needs its registers.
HWY_NOINLINE void write(Ended& ended, size_t count) {
  const auto& rays = ended.rays;
  const auto& x = rays.x;
  const int64_t n = x.shape.rays;
  const size_t slot = ended.added % kSlots;
  HWY_ALIGN float sums[4 * kTogether];
  add_lanes(ended, sums);
  const int32_t* ray = &rays.ended_ray[ended.added % rays.ended_ray.size()];
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
  ended.added += count;
}

/// Rays [first, last). Iterations begin at multiples of kStep in the stream, so lanes of the first may belong
/// to rays before `first`. The ray that ends where `first` begins is written as the first ray with samples,
/// which is written again later.
void composite(const CompositeFwd::Args<float>& x, int64_t first, int64_t last) {
  const int64_t start = x.ray_begin[first] / kStep * kStep, end = x.ray_begin[last];
  Rays rays{{start / kBlock * kBlock}, x, first, last};
  rays.look_up();
  if (x.ray_begin[first] == end) return;
  rays.ended_ray[0] = rays.ended_ray[1];
  Ended ended(rays);
  walk_in_turns(x, start, end, rays, ended);
}

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeFwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  parallel_rays(x.ray_begin, x.shape.rays, x.shape.samples >= kWorthThreads,
                [&](int64_t begin, int64_t end) { part(x, begin, end); });
}

KLAB_VARIANT(CompositeFwd,
             {.run = run,
              .parent = "09_segmented_scan",
              .numerics = {.growth = Growth::linear},
              .tiles = {4, 16, 32, 512},
              .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.15},
              .when = {{1 << 15, 1 << 18}, "short rays leave lanes empty, and loops end unforeseen"},
              .was = {"10_staggered"}});
KLAB_SIMD_CLOSE();
#endif
