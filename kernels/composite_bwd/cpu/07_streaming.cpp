// composite_bwd.cpu.07_streaming: results are written in whole lines, and bypass the caches if these cannot
// keep them.
//
// CHANGE    two passes over the piece's samples, which no ray ends early, prefetch three of the six streams each, two
//           pieces ahead. If there are more results than caches keep, they are assembled in L1, by whole vectors over the
//           ends of rays, and written line by line, by streaming stores, when a piece is done. Pieces are
//           half as long. Fewer results go the parent's way.
// EXPECT    a plain store first reads the line that it writes to: more than a quarter of the traffic is
//           wasted. And the passes take turns at using memory and arithmetic: a piece is too short for the
//           processor's own prefetcher. 1.35 times or more beyond the caches.
// NUMERICS  as the parent, bit for bit.
// NEEDS     rows of results that begin on a line.
// TRIED     see NOTES.md, cpu.07_streaming
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/composite_bwd/composite_bwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

/// Rows of results: red, green, blue, density.
struct Rows {
  explicit Rows(const CompositeBwd::Args<float>& x)
      : row{x.d_rgb, x.d_rgb + x.shape.samples, x.d_rgb + 2 * x.shape.samples, x.d_density_raw} {}
  float* row[4];
};

/// To memory as they are computed.
struct Direct : Rows {
  static constexpr int64_t kPiece = 256;  // samples; the data in use stays in L1
  Direct(const CompositeBwd::Args<float>& x, int64_t, int64_t) : Rows(x) {}
  HWY_INLINE void put(V v, int64_t c, int64_t i, size_t count) const {
    store_first(v, D(), row[c] + i, count);
  }
  void send(int64_t, bool) const {}
};

/// Put together in whole lines, which leave when a piece is done.
class Lines : Rows {
 public:
  static constexpr int64_t kPiece = 128;
  /// From sample `first` on, in pieces of up to `room` samples.
  Lines(const CompositeBwd::Args<float>& x, int64_t first, int64_t room)
      : Rows(x), stride_((room / kLine + 3) * kLine), sent_(first), lines_(scratch_.floats(4 * stride_)) {}
  static bool can(const CompositeBwd::Args<float>& x) {
    const Rows rows(x);
    return std::all_of(rows.row, rows.row + 4,
                       [](const float* p) { return reinterpret_cast<uintptr_t>(p) % (4 * kLine) == 0; });
  }
  /// Lanes behind `count` are stored as well: they are written again, or not sent.
  HWY_INLINE void put(V v, int64_t c, int64_t i, size_t) const { hn::StoreU(v, D(), at(c, i)); }
  /// Samples up to `to` are complete. `last`: no others follow; else a part of a line waits for them.
  void send(int64_t to, bool last) {
    const int64_t whole = to / kLine * kLine;
    int64_t i = sent_;
    if (i % kLine != 0 && (whole > i || last)) {  // a line shared with the thread before
      const int64_t end = std::min((i / kLine + 1) * kLine, to);
      for (int64_t c = 0; c < 4; ++c) std::copy(at(c, i), at(c, end), row[c] + i);
      i = end;
    }
    for (; i + kLine <= to; i += kLine)
      for (int64_t c = 0; c < 4; ++c)
        for (int64_t k = 0; k < kLine; k += int64_t(hn::Lanes(D())))
          hn::Stream(hn::Load(D(), at(c, i + k)), D(), row[c] + i + k);
    for (int64_t c = 0; c < 4 && last; ++c) std::copy(at(c, i), at(c, to), row[c] + i);
    for (int64_t c = 0; c < 4 && !last && i > sent_; ++c)
      std::copy_n(at(c, i), kLine, at(c, sent_ / kLine * kLine));
    sent_ = i;
    if (last) hwy::FlushStream();
  }

 private:
  static constexpr int64_t kLine = 16;  // floats
  float* at(int64_t c, int64_t i) const { return lines_ + c * stride_ + (i - sent_ / kLine * kLine); }
  Scratch scratch_;
  int64_t stride_, sent_;
  float* lines_;
};

template <class Results>
void composite_to(const CompositeBwd::Args<float>& x, int64_t begin_ray, int64_t end_ray) {
  const D d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [rays, samples] = x.shape;
  constexpr int64_t kPiece = Results::kPiece;
  int64_t room = kPiece;
  for (int64_t r = begin_ray; r < end_ray; ++r)
    room = std::max<int64_t>(room, x.ray_begin[r + 1] - x.ray_begin[r]);
  Results results(x, x.ray_begin[begin_ray], room);
  std::vector<float> tau(size_t(room) + 16), slope(size_t(room) + 16), behind(size_t(room) + 16);
  const auto least = hn::Set(d, 3.05902321e-7F), most = hn::Set(d, 3269017.37F);  // exp(-15), exp(15)
  for (int64_t first = begin_ray, last; first < end_ray; first = last) {
    // A piece: rays [first, last), whole ones, of samples [from, to).
    const int64_t from = x.ray_begin[first];
    for (last = first + 1; last < end_ray && x.ray_begin[last + 1] - from <= kPiece;) ++last;
    const int64_t to = x.ray_begin[last];
    // Two pieces ahead; prefetching past the end does no harm.
    const auto prefetch = [](const float* p) { __builtin_prefetch(p + 2 * kPiece); };
    // 1. Optical depth of every sample and its derivative, whatever ray it is of.
    for (int64_t i = from; i < to; i += lanes) {
      const size_t count = size_t(std::min(lanes, to - i));
      const auto sigma = exp_saturated(d, load_first(d, x.density_raw + i, count));
      const auto delta = load_first(d, x.delta + i, count);
      hn::StoreU(hn::Mul(sigma, delta), d, tau.data() + (i - from));
      prefetch(x.rgb + i);
      prefetch(x.rgb + samples + i);
      prefetch(x.rgb + 2 * samples + i);
      hn::StoreU(hn::Mul(hn::Min(hn::Max(sigma, least), most), delta), d, slope.data() + (i - from));
    }
    // 2. Prefix sums, ray by ray. The next ray overwrites the values stored past the end of a ray.
    for (int64_t r = first; r < last; ++r) {
      auto sum = hn::Zero(d);
      for (int64_t i = x.ray_begin[r] - from; i < x.ray_begin[r + 1] - from; i += lanes) {
        sum = hn::Add(last_lane(d, sum), prefix_sum(d, hn::LoadU(d, tau.data() + i)));
        hn::StoreU(sum, d, behind.data() + i);
      }
    }
    // 3. Transmittance behind every sample.
    for (int64_t i = 0; i < to - from; i += lanes) {
      hn::StoreU(exp_minus(d, hn::LoadU(d, behind.data() + i)), d, behind.data() + i);
      prefetch(x.density_raw + from + i);
      prefetch(x.delta + from + i);
      prefetch(x.t + from + i);
    }
    // 4. Gradients, ray by ray. Colors and distances past the end of the ray are loaded as 0; the next ray
    // overwrites the values stored past it.
    for (int64_t r = first; r < last; ++r) {
      const int64_t begin = x.ray_begin[r], end = x.ray_begin[r + 1];
      const auto red = hn::Set(d, x.d_color[r]), green = hn::Set(d, x.d_color[rays + r]);
      const auto blue = hn::Set(d, x.d_color[2 * rays + r]), depth = hn::Set(d, x.d_depth[r]);
      auto in_front = hn::Set(d, 1.0F);  // transmittance in front of this vector, in all lanes
      auto prefix = hn::Zero(d);         // sum of weight times payload so far, in the last lane
      int64_t i = begin;
      for (; i < end && hn::GetLane(in_front) >= float(CompositeFwd::stop); i += lanes) {
        const size_t count = size_t(std::min(lanes, end - i));
        const auto after = hn::LoadU(d, behind.data() + (i - from));
        const auto weight =
            hn::IfThenElseZero(hn::FirstN(d, count), hn::Sub(shift_in(d, after, in_front), after));
        // Lanes past the end hold another ray's; the last one of this ray is needed for its background.
        in_front = end - i < lanes ? hn::Set(d, behind[size_t(end - 1 - from)]) : last_lane(d, after);
        auto p = hn::Mul(depth, load_first(d, x.t + i, count));
        p = hn::MulAdd(red, load_first(d, x.rgb + i, count), p);
        p = hn::MulAdd(green, load_first(d, x.rgb + samples + i, count), p);
        p = hn::MulAdd(blue, load_first(d, x.rgb + 2 * samples + i, count), p);
        prefix = hn::Add(last_lane(d, prefix), prefix_sum(d, hn::Mul(weight, p)));
        results.put(hn::Mul(weight, red), 0, i, count);
        results.put(hn::Mul(weight, green), 1, i, count);
        results.put(hn::Mul(weight, blue), 2, i, count);
        hn::StoreU(hn::MulAdd(after, p, prefix), d, tau.data() + (i - from));
      }
      const float q = x.d_color[r] * x.background[r] + x.d_color[rays + r] * x.background[rays + r] +
                      x.d_color[2 * rays + r] * x.background[2 * rays + r] - x.d_opacity[r];
      const auto total = hn::Set(d, hn::GetLane(last_lane(d, prefix)) + hn::GetLane(in_front) * q);
      for (int64_t k = begin; k < std::min(i, end); k += lanes) {
        const auto gradient = hn::Mul(hn::LoadU(d, slope.data() + (k - from)),
                                      hn::Sub(hn::LoadU(d, tau.data() + (k - from)), total));
        results.put(gradient, 3, k, size_t(std::min(lanes, end - k)));
      }
      for (; i < end; i += lanes)  // left out
        for (int64_t c = 0; c < 4; ++c) results.put(hn::Zero(d), c, i, size_t(std::min(lanes, end - i)));
    }
    results.send(to, last == end_ray);
  }
}

/// Rays [begin_ray, end_ray).
void composite(const CompositeBwd::Args<float>& x, int64_t begin_ray, int64_t end_ray) {
  constexpr int64_t kFar = 1 << 21;  // samples whose results no cache keeps
  x.shape.samples >= kFar&& Lines::can(x) ? composite_to<Lines>(x, begin_ray, end_ray)
                                          : composite_to<Direct>(x, begin_ray, end_ray);
}

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeBwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  parallel_rays(x.ray_begin, x.shape.rays, x.shape.samples >= kWorthThreads,
                [&](int64_t begin, int64_t end) { part(x, begin, end); });
}

KLAB_VARIANT(CompositeBwd, {.run = run,
                            .parent = "05_threads",
                            .forward = "08_threads",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16, 128},
                            .expect = {.shape = {1 << 18, 1 << 23}, .over_parent = 1.35},
                            .when = {{1 << 18, 1 << 23}, "results do not stay in the caches"},
                            .was = {"06_prefetch", "08_as_they_come", "08_guided_schedule"}});
KLAB_SIMD_CLOSE();
#endif
