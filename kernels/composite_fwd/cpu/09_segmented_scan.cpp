// composite_fwd.cpu.09_segmented_scan: the stream of samples as one, and scans that stop at the borders of
// rays.
//
// CHANGE    vectors follow the stream, regardless of the rays that their lanes belong to. A bit for each
//           sample marks where rays begin. Every step of a scan adds only lanes on the same side of a border,
//           and the carry to the next vector ends there. Color and depth are scanned like the optical depth:
//           a ray's last sample has its sum.
// EXPECT    with rays of eight samples half of the parent's lanes are empty, and each of its loops ends after
//           one iteration or two, which no branch predictor can know: 1.05 times or more. A loss where rays
//           are long: five scans for one, and nothing is skipped behind an opaque sample.
// NUMERICS  sums grouped by the place in the stream, the same for any number of threads.
// TRIED     see NOTES.md, cpu.09_segmented_scan
#include <algorithm>
#include <array>
#include <cstring>

#include "harness/core/registrar.h"
#include "kernels/common/composite/ray_split.h"
#include "kernels/common/simd.h"
#include "reference/composite_fwd/composite_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

HWY_INLINE M mask_of(uint32_t bits) {
  HWY_ALIGN const uint64_t words[1] = {bits};
  return hn::LoadMaskBits(D(), reinterpret_cast<const uint8_t*>(words));
}

/// Selects the additions in a vector whose lanes in `heads` begin a ray.
struct Borders {
  M head;       // begins a ray
  M carry;      // belongs to the ray of the vector before
  M joined[4];  // may add the lane 1, 2, 4, 8 below

  HWY_INLINE explicit Borders(uint32_t heads) {
    const uint32_t all = uint32_t((uint64_t(1) << hn::Lanes(D())) - 1);
    const uint32_t inner = ~heads & all;
    head = mask_of(heads);
    carry = mask_of(heads == 0 ? all : (heads & (0 - heads)) - 1);  // below the first head
    uint32_t bits = inner & ~uint32_t(1);
    for (int k = 0; k < 4; ++k, bits &= bits << (1 << (k - 1))) joined[k] = mask_of(bits);
  }
};

/// Inclusive sums within rays; `before` is the last vector's result, spread by last_lane.
HWY_INLINE V scan(const Borders& b, V v, V before) {
  const D d;
  for (int k = 0, by = 1; by < int(hn::Lanes(d)); ++k, by *= 2)
    v = hn::Add(v, hn::IfThenElseZero(b.joined[k], lanes_up(d, v, by)));
  return hn::Add(v, hn::IfThenElseZero(b.carry, before));
}

constexpr int64_t kPiece = 256;  // samples; a multiple of every number of lanes

/// Where the rays of a piece begin, a bit a sample.
struct Heads {
  std::array<uint64_t, kPiece / 64 + 1> words{};
  HWY_INLINE void set(int64_t at) { words[size_t(at / 64)] |= uint64_t(1) << (at % 64); }
  HWY_INLINE uint32_t at(int64_t first) const {
    const uint32_t all = uint32_t((uint64_t(1) << hn::Lanes(D())) - 1);
    return uint32_t(words[size_t(first / 64)] >> (first % 64)) & all;
  }
};

/// State carried from vector to vector.
struct Carry {
  V depth_in_front, transmittance, sums[4];  // red, green, blue, distance
};

/// The results at every sample of a piece; `behind` holds optical depths before it holds transmittances.
struct Piece {
  HWY_ALIGN float behind[kPiece], sums[4][kPiece];
};

/// Samples [begin, begin + size) of the stream, whose rays begin at `heads`. Four walks, so that a vector never waits for
/// the whole way from a density to a sum: many are in flight in each.
template <class Load>
HWY_INLINE void walk(const CompositeFwd::Args<float>& x, int64_t begin, int64_t size, const Heads& heads,
                     Carry& carry, Piece& piece, Load load) {
  const D d;
  const int64_t lanes = int64_t(hn::Lanes(d)), samples = x.shape.samples;
  for (int64_t k = 0; k < size; k += lanes) {
    const V sigma = exp_saturated(d, load(x.density_raw + begin, k));
    hn::Store(hn::Mul(sigma, load(x.delta + begin, k)), d, piece.behind + k);
  }
  V depth = carry.depth_in_front;
  for (int64_t k = 0; k < size; k += lanes) {
    depth = scan(Borders(heads.at(k)), hn::Load(d, piece.behind + k), depth);
    hn::Store(depth, d, piece.behind + k);
    depth = last_lane(d, depth);
  }
  carry.depth_in_front = depth;
  for (int64_t k = 0; k < size; k += lanes)
    hn::Store(exp_minus(d, hn::Load(d, piece.behind + k)), d, piece.behind + k);
  const float* payload[4] = {x.rgb + begin, x.rgb + samples + begin, x.rgb + 2 * samples + begin,
                             x.t + begin};
  V in_front = carry.transmittance;
  V sums[4] = {carry.sums[0], carry.sums[1], carry.sums[2], carry.sums[3]};
  for (int64_t k = 0; k < size; k += lanes) {
    const Borders borders(heads.at(k));
    const V after = hn::Load(d, piece.behind + k);
    const V before = hn::IfThenElse(borders.head, hn::Set(d, 1.0F), shift_in(d, after, in_front));
    const V weight = hn::Sub(before, after);
    for (int c = 0; c < 4; ++c) {
      const V sum = scan(borders, hn::Mul(weight, load(payload[c], k)), sums[c]);
      hn::Store(sum, d, piece.sums[c] + k);
      sums[c] = last_lane(d, sum);
    }
    in_front = last_lane(d, after);
  }
  carry = {depth, in_front, {sums[0], sums[1], sums[2], sums[3]}};
}

/// Rays [first, last). Vectors begin at multiples of their length in the stream, so lanes of the first may
/// belong to rays before `first`: their results are not used.
void composite(const CompositeFwd::Args<float>& x, int64_t first, int64_t last) {
  const D d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [rays, samples] = x.shape;
  const int64_t end = x.ray_begin[last];
  Piece piece;
  const V zero = hn::Zero(d);
  Carry carry{zero, hn::Set(d, 1.0F), {zero, zero, zero, zero}};
  int64_t begins = first, ends = first;  // rays whose begin and whose end have not been reached yet
  for (int64_t from = x.ray_begin[first] / lanes * lanes;; from += kPiece) {
    const int64_t to = std::min(from + kPiece, end);
    Heads heads;
    for (; begins < last && x.ray_begin[begins] < to; ++begins) heads.set(x.ray_begin[begins] - from);
    const int64_t whole = std::min((to - from + lanes - 1) / lanes, (samples - from) / lanes) * lanes;
    // Two pieces ahead; prefetching past the end does no harm.
    walk(x, from, whole, heads, carry, piece, [d](const float* p, int64_t k) HWY_ATTR {
      __builtin_prefetch(p + k + 2 * kPiece);
      return hn::LoadU(d, p + k);
    });
    if (from + whole < to) {  // the stream's last samples, fewer than a vector
      const size_t count = size_t(samples - from - whole);
      Heads tail;
      for (int64_t k = 0; k < int64_t(count); ++k)
        if (heads.at(whole) >> k & 1) tail.set(k);
      Piece rest;
      walk(x, from + whole, lanes, tail, carry, rest,
           [d, count](const float* p, int64_t) HWY_ATTR { return load_first(d, p, count); });
      std::copy_n(rest.behind, lanes, piece.behind + whole);
      for (int c = 0; c < 4; ++c) std::copy_n(rest.sums[c], lanes, piece.sums[c] + whole);
    }
    for (; ends < last && x.ray_begin[ends + 1] <= to; ++ends) {
      const int64_t r = ends, tail = x.ray_begin[r + 1] - 1 - from;
      const bool empty = x.ray_begin[r + 1] == x.ray_begin[r];
      const float left = empty ? 1 : piece.behind[tail];
      for (int64_t c = 0; c < 3; ++c)
        x.color[c * rays + r] = (empty ? 0 : piece.sums[c][tail]) + left * x.background[c * rays + r];
      x.opacity[r] = 1 - left;
      x.depth[r] = empty ? 0 : piece.sums[3][tail];
    }
    if (to == end) break;
  }
}

KLAB_SIMD_ONCE(composite);

#if HWY_ONCE
void run(const CompositeFwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(composite);
  constexpr int64_t kWorthThreads = 1 << 14;  // samples; below, waking a thread takes longer than the work
  parallel_rays(x.ray_begin, x.shape.rays, x.shape.samples >= kWorthThreads,
                [&](int64_t begin, int64_t end) { part(x, begin, end); });
}

KLAB_VARIANT(CompositeFwd, {.run = run,
                            .parent = "08_threads",
                            .numerics = {.growth = Growth::linear},
                            .tiles = {4, 16, 256},
                            .expect = {.shape = {1 << 15, 1 << 18}, .over_parent = 1.05},
                            .when = {{1 << 15, 1 << 18}, "short rays leave lanes empty"},
                            .was = {"09_segments"}});
KLAB_SIMD_CLOSE();
#endif
