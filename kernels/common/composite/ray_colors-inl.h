// Colors of rays, by vectors along the stream of samples regardless of the ray that a lane belongs to, and
// the loss of their pixels; shared by composite_loss_fwd and composite_loss_bwd. Included by kernel files
// inside Highway's foreach_target, once a target.
#if defined(KLAB_KERNELS_COMMON_COMPOSITE_RAY_COLORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_COMPOSITE_RAY_COLORS_INL_H_
#undef KLAB_KERNELS_COMMON_COMPOSITE_RAY_COLORS_INL_H_
#else
#define KLAB_KERNELS_COMMON_COMPOSITE_RAY_COLORS_INL_H_
#endif

#include <algorithm>
#include <array>
#include <vector>

#include "hwy/highway.h"
#include "kernels/common/composite/ray_lanes-inl.h"
#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"
#include "kernels/common/scratch.h"
#include "reference/composite_loss_fwd/composite_loss_fwd.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kPiece = 512;  // samples of a piece, if its first ray is no longer
constexpr int64_t kLate = 3;     // vectors from a sum of optical depths to its exponential

/// One value for each ray of a piece that has samples, in their order, from [1] on. In [0] is the one before, which the first
/// vector may have lanes of. A vector may be loaded and stored from any of them on.
using EachRay = std::array<float, size_t(kPiece) + 33>;

/// Rays [begin_ray, end_ray) of a thread, piece by piece: as many neighbors as have kPiece samples together, or a longer one.
class Pieces {
 public:
  int64_t first, last;  // rays of the piece
  int64_t from, to;     // its samples
  int64_t base;        // sample of the first vector: vectors begin at multiples of their length in the stream
  uint32_t* words;     // of each vector, a bit where a ray begins, and one where the piece ends
  int32_t* first_ray;  // of each vector, its lane 0's place in an EachRay
  float* memory;       // of each vector, and of kLate before and behind them, `rows` vectors
  const int64_t per_vector;

  /// rows: vectors that are kept for each vector of samples.
  Pieces(const int32_t* ray_begin, int64_t begin_ray, int64_t end_ray, int64_t rows)
      : last(begin_ray), per_vector(rows * kLanes), ray_begin_(ray_begin), end_ray_(end_ray) {
    int64_t room = kPiece;
    for (int64_t r = begin_ray; r < end_ray; ++r)
      room = std::max<int64_t>(room, ray_begin[r + 1] - ray_begin[r]);
    const int64_t vectors = room / kLanes + 3 + 2 * kLate;
    words_.resize(size_t(vectors));
    first_rays_.resize(size_t(vectors));
    words = words_.data();
    first_ray = first_rays_.data();
    memory = scratch_.floats(vectors * per_vector) + kLate * per_vector;
  }

  /// The next piece; false when there is none.
  bool next() {
    if (last == end_ray_) return false;
    first = last;
    from = ray_begin_[first];
    base = from / kLanes * kLanes;
    std::fill_n(words, kPiece / kLanes + 2, kAlways);
    mark(from);
    for (last = first + 1; last < end_ray_ && ray_begin_[last + 1] - from <= kPiece; ++last)
      mark(ray_begin_[last]);
    to = ray_begin_[last];
    if (to - from > kPiece) std::fill(words_.begin() + 1, words_.end(), kAlways);
    mark(to);
    return true;
  }

  /// Calls step(i, number, load) for each vector of samples [i, i + kLanes); load(p) reads those of p's
  /// elements that exist.
  template <class Step>
  HWY_INLINE void walk(int64_t samples, Step&& step) const {
    const D d;
    for (int64_t i = base, number = 0; i < to; i += kLanes, ++number) {
      if (HWY_LIKELY(i + kLanes <= samples)) {
        step(i, number, [d](const float* p) HWY_ATTR { return hn::LoadU(d, p); });
      } else {
        const size_t count = size_t(samples - i);
        step(i, number, [d, count](const float* p) HWY_ATTR { return load_first(d, p, count); });
      }
    }
  }

 private:
  void mark(int64_t k) { words[(k - base) / kLanes] |= uint32_t(1) << (k % kLanes); }

  const int32_t* ray_begin_;
  int64_t end_ray_;
  std::vector<uint32_t> words_;
  std::vector<int32_t> first_rays_;
  Scratch scratch_;
};

/// Colors without the background, and the transmittance left for it.
struct RaySums {
  EachRay color[3], left;
};

/// The three walks from samples to RaySums: optical depths; their sums within rays, and transmittances kLate
/// vectors behind them; weights and the sums of weighted colors. kGradients: keeps the inputs of the samples'
/// gradients in memory, for each vector
///   [0] weight   [1] exp'(raw)·delta   [2..4] transmittance · color + the sum of weighted colors so far, channel by channel.
template <bool kGradients, class Args>
HWY_INLINE void sum_colors(const Args& x, Pieces& piece, RaySums& rays) {
  const D d;
  const int64_t samples = x.shape.samples, per_vector = piece.per_vector;
  const V least = hn::Set(d, 3.05902321e-7F), most = hn::Set(d, 3269017.37F);  // exp(-15), exp(15)
  piece.walk(samples, [&](int64_t i, int64_t number, auto load) HWY_ATTR {
    float* const at = piece.memory + number * per_vector;
    const V sigma = exp_saturated(d, load(x.density_raw + i)), delta = load(x.delta + i);
    if constexpr (kGradients) hn::Store(hn::Mul(hn::Min(hn::Max(sigma, least), most), delta), d, at + kLanes);
    hn::Store(hn::Mul(sigma, delta), d, at);
    prefetch(x.density_raw + i);
  });
  // Values read past the end and written before the beginning are not used.
  V in_front = hn::Zero(d), third = in_front, second = in_front, newest = in_front;
  const int64_t vectors = (piece.to - piece.base + kLanes - 1) / kLanes;
  for (int64_t number = 0; number < vectors + kLate; ++number) {
    float* const at = piece.memory + number * per_vector;
    const V tau = hn::Load(d, at);
    hn::Store(exp_minus(d, third), d, at - kLate * per_vector);
    third = second;
    second = newest;
    newest = scan(piece.words[number], tau, in_front);
    in_front = last_lane(d, newest);
    prefetch(x.delta + piece.base + number * kLanes);
  }
  V last_after = hn::Zero(d), red_sum = last_after, green_sum = last_after, blue_sum = last_after;
  size_t ray = piece.from > piece.base ? 0 : 1;  // of lane 0: the next that ends
  piece.walk(samples, [&](int64_t i, int64_t number, auto load) HWY_ATTR {
    float* const at = piece.memory + number * per_vector;
    const uint32_t word = piece.words[number];
    // A ray ends one lane below where the next one begins.
    const uint32_t last = (word & ~kAlways) >> 1 | (piece.words[number + 1] & 1) << (kLanes - 1);
    const M begins = mask_of(word), ends = mask_of(last);
    const V after = hn::Load(d, at), pushed = push(after, last_after);
    const V weight = hn::Sub(hn::IfThenElse(begins, hn::Set(d, 1.0F), pushed), after);
    const auto add = [&](const float* row, V& sum, EachRay& to, int64_t c) HWY_ATTR {
      const V color = load(row + i), so_far = scan(word, hn::Mul(weight, color), sum);
      if constexpr (kGradients) hn::Store(hn::MulAdd(after, color, so_far), d, at + (2 + c) * kLanes);
      hn::StoreU(compact(d, so_far, ends), d, &to[ray]);
      sum = last_lane(d, so_far);
      prefetch(row + i);
    };
    add(x.rgb, red_sum, rays.color[0], 0);
    add(x.rgb + samples, green_sum, rays.color[1], 1);
    add(x.rgb + 2 * samples, blue_sum, rays.color[2], 2);
    hn::StoreU(compact(d, after, ends), d, &rays.left[ray]);
    if constexpr (kGradients) {
      hn::Store(weight, d, at);
      piece.first_ray[number] = int32_t(ray);
    }
    ray += size_t(__builtin_popcount(last));
  });
}

/// Rays of the piece, a vector of them at a time, each with its color: step(r, count, place, some, red, green, blue) with
/// rays [r, r + count), those of them with samples, and the first of these in an EachRay.
template <class Args, class Step>
HWY_INLINE void for_rays(const Args& x, const Pieces& piece, const RaySums& rays, Step&& step) {
  const D d;
  const DU du;
  const DI di;
  const int64_t n = x.shape.rays;
  size_t place = 1;
  for (int64_t r = piece.first; r < piece.last; r += kLanes) {
    const size_t count = size_t(std::min(kLanes, piece.last - r));
    const M some = hn::RebindMask(
        d, hn::Lt(load_first(di, x.ray_begin + r, count), load_first(di, x.ray_begin + r + 1, count)));
    // The ray in a lane comes after as many others with samples as there are below it.
    HWY_ALIGN uint64_t bits[1] = {};
    hn::StoreMaskBits(d, some, reinterpret_cast<uint8_t*>(bits));
    const auto before = hn::And(hn::Set(du, uint32_t(bits[0]) << 1), hn::Load(du, kBits[4].data()));
    const auto which = hn::BitCast(di, hn::PopulationCount(before));
    const V left = hn::IfThenElse(some, spread(&rays.left[place], which), hn::Set(d, 1.0F));
    const auto color = [&](int64_t c) HWY_ATTR {
      const V sum = hn::IfThenElseZero(some, spread(&rays.color[c][place], which));
      return hn::MulAdd(left, load_first(d, x.background + c * n + r, count), sum);
    };
    step(r, count, place, some, color(0), color(1), color(2));
    place += hn::CountTrue(d, some);
    __builtin_prefetch(x.ray_begin + r + kRaysAhead + kLanes);  // past the end it does no harm
    for (int64_t c = 0; c < 3; ++c) {
      __builtin_prefetch(x.background + c * n + r + kRaysAhead);
      __builtin_prefetch(x.target + c * n + r + kRaysAhead);
    }
  }
}

/// The loss of a channel, as in pixel_loss_fwd, in each lane, and its derivative.
struct ChannelLoss {
  bool squares;
  float turn;

  explicit ChannelLoss(int64_t kind) : squares(kind == 0), turn(CompositeLossFwd::turn(kind)) {}
  HWY_INLINE V value(V error) const {
    const D d;
    if (squares) return hn::Mul(error, error);
    const V e = hn::Abs(error), most = hn::Set(d, turn), s = hn::IfThenElse(hn::Gt(e, most), most, e);
    return hn::Mul(s, hn::NegMulAdd(hn::Set(d, 0.5F), s, e));
  }
  HWY_INLINE V slope(V error) const {
    const D d;
    if (squares) return hn::Add(error, error);
    const V most = hn::Set(d, turn), least = hn::Set(d, -turn);
    error = hn::IfThenElse(hn::Gt(error, most), most, error);
    return hn::IfThenElse(hn::Lt(error, least), least, error);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
