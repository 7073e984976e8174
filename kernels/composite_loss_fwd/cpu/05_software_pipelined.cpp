// composite_loss_fwd.cpu.05_software_pipelined: long rays in one walk of four stages, each an iteration
// behind the one before.
//
// CHANGE    with a mean of 16 samples per ray or more, the walk of composite_fwd.10 and the lines of its 11,
//           without depths and opacities, and with the loss of a line of rays in place of its color. Shorter
//           rays go the parent's way.
// EXPECT    20 bytes per sample; 90 vector operations for 16 samples in place of 130, as colors are added
//           lane by lane and not scanned: 1.25 times the parent at a mean of 32 in the caches, where
//           03_threads has nearly as few; a little from memory, which is used evenly. With short rays, where
//           most vectors hold several ends, scanning is the shorter way: equal.
// NUMERICS  sums grouped by the place in the stream, the same for any number of threads.
// NEEDS     many registers; with fewer than 32 the state between iterations waits in L1.
// TRIED     NOTES.md
#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/simd.h"
#include "reference/composite_loss_fwd/composite_loss_fwd.h"

#include "kernels/common/composite/pipelined-inl.h"
#include "kernels/common/composite/ray_colors-inl.h"

KLAB_SIMD_BEGIN();

using Args = CompositeLossFwd::Args<float>;

/// Losses of rays [r, r + count).
HWY_INLINE void write_losses(const Args& x, const ChannelLoss& channel, int64_t r, size_t count, V red,
                             V green, V blue) {
  const D d;
  const int64_t n = x.shape.rays;
  const auto loss = [&](V color, int64_t c) HWY_ATTR {
    return channel.value(hn::Sub(color, load_first(d, x.target + c * n + r, count)));
  };
  const V sum = hn::Add(hn::Add(loss(red, 0), loss(green, 1)), loss(blue, 2));
  store_first(hn::Mul(sum, hn::Set(d, 1.0F / 3)), d, x.loss + r, count);
}

/// Rays that have ended; their losses are written a line at a time.
struct Ended : LineSums {
  const Args& x;
  ChannelLoss channel;

  Ended(const Args& args, int64_t first_ray, int64_t last_ray)
      : LineSums(args.ray_begin, first_ray, last_ray), x(args), channel(args.shape.kind) {}

  HWY_INLINE bool write_line() {
    return take_line([&](int64_t r, size_t few, V through, V red, V green, V blue, V) HWY_ATTR {
      const D d;
      const auto shine = [&](V sum, int64_t c) HWY_ATTR {
        const int64_t at = c * x.shape.rays + r;
        __builtin_prefetch(x.background + at + kRaysAhead);  // past the end it does no harm
        __builtin_prefetch(x.target + at + kRaysAhead);
        return hn::MulAdd(through, load_first(d, x.background + at, few), sum);
      };
      write_losses(x, channel, r, few, shine(red, 0), shine(green, 1), shine(blue, 2));
      __builtin_prefetch(x.ray_begin + r + kRaysAhead + kLanes);
    });
  }
};

/// Not inlined: the walk needs its registers.
HWY_NOINLINE void write(Ended& ended, size_t count) { write_lines(ended, count); }

/// Rays [first, last), of many samples. Turns begin at multiples of kStep in the stream, so lanes of the
/// first may belong to rays before `first`: their sums end where `first` begins, and are dropped.
void composite_long(const Args& x, int64_t first, int64_t last) {
  const int64_t start = x.ray_begin[first] / kStep * kStep, end = x.ray_begin[last];
  RaysByBlock rays{{start / kBlock * kBlock}, x.ray_begin, first, last};
  rays.look_up();
  Ended ended(x, first, last);
  if (x.ray_begin[first] == end) return write(ended, 0);
  ended.taken = 1;
  walk_in_turns(x, start, end, rays, ended);
}

/// Rays [first, last), of few.
void composite_short(const Args& x, int64_t first, int64_t last) {
  const ChannelLoss channel(x.shape.kind);
  Pieces piece(x.ray_begin, first, last, 1);
  RaySums sums;
  while (piece.next()) {
    sum_colors<false>(x, piece, sums);
    for_rays(x, piece, sums, [&](int64_t r, size_t count, size_t, M, V red, V green, V blue) HWY_ATTR {
      write_losses(x, channel, r, count, red, green, blue);
    });
  }
}

void composite(const Args& x, int64_t first, int64_t last) {
  constexpr int64_t kLong = 16;  // samples per ray in the mean
  x.shape.samples >= kLong* x.shape.rays ? composite_long(x, first, last) : composite_short(x, first, last);
}

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeLossFwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  parallel_rays(x.ray_begin, x.shape.rays, x.shape.samples >= kWorthThreads,
                [&](int64_t begin, int64_t end) { part(x, begin, end); });
}

KLAB_VARIANT(CompositeLossFwd,
             {.run = run,
              .parent = "04_shared_lanes",
              .numerics = {.growth = Growth::linear},
              .tiles = {4, 16, 32, 128, 512},
              .expect = {.shape = {1 << 18, 1 << 23, 1}, .over_parent = 1.05},
              .when = {{1 << 18, 1 << 23, 1}, "long rays from memory, which it uses evenly"},
              .was = {"05_staggered"}});
KLAB_SIMD_CLOSE();
#endif
