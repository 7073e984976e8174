// What the walks of composite_bwd along the stream share, whatever ray a lane belongs to: what is given for the rays of a piece,
// and results that share lines with other pieces and threads. Included by kernel files inside Highway's foreach_target,
// once a target.
#if defined(KLAB_KERNELS_COMMON_RAY_GRADIENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_RAY_GRADIENTS_INL_H_
#undef KLAB_KERNELS_COMMON_RAY_GRADIENTS_INL_H_
#else
#define KLAB_KERNELS_COMMON_RAY_GRADIENTS_INL_H_
#endif

#include <algorithm>
#include <array>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"
#include "kernels/common/ray_lanes-inl.h"
#include "reference/composite_bwd/composite_bwd.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DI = hn::RebindToSigned<D>;

constexpr int64_t kPiece =
    512;  // samples of a piece, if its first ray is no longer; what is in use stays in L1
constexpr int64_t kAhead = 384;     // samples asked for before their turn
constexpr int64_t kRaysAhead = 64;  // rays
constexpr int64_t kLine = 16;       // floats

/// Rays of a piece that have samples, in their order, from [1] on: what is given for them, and their sums. In [0] is the
/// one before, which the first vector may have lanes of.
struct Rays {
  // A vector may be stored from any place on.
  using Each = std::array<float, size_t(kPiece) + 33>;
  HWY_ALIGN Each red{}, green{}, blue{}, depth{};  // gradients
  HWY_ALIGN Each behind{};                         // what light from behind the ray adds to the loss
  HWY_ALIGN Each ends, left;                       // its running sum and the transmittance where it ends
  HWY_ALIGN Each total;                            // the whole sum

  /// Rays [first, last). The number of those with samples. kAsk: for what belongs to later ones, too.
  template <bool kAsk>
  HWY_INLINE size_t look_up(const CompositeBwd::Args<float>& x, int64_t first, int64_t last) {
    const D d;
    const DI di;
    const int64_t n = x.shape.rays;
    size_t found = 0;
    for (int64_t r = first; r < last; r += kLanes) {
      const size_t count = size_t(std::min(kLanes, last - r));
      const auto load = [d, count](const float* p) HWY_ATTR { return load_first(d, p, count); };
      const M some = hn::RebindMask(
          d, hn::Lt(load_first(di, x.ray_begin + r, count), load_first(di, x.ray_begin + r + 1, count)));
      const V g0 = load(x.d_color + r), g1 = load(x.d_color + n + r), g2 = load(x.d_color + 2 * n + r);
      V light = hn::MulSub(g0, load(x.background + r), load(x.d_opacity + r));
      light = hn::MulAdd(g1, load(x.background + n + r), light);
      light = hn::MulAdd(g2, load(x.background + 2 * n + r), light);
      const auto keep = [&](V v, Each& to) HWY_ATTR { hn::StoreU(compact(d, v, some), d, &to[found + 1]); };
      keep(g0, red);
      keep(g1, green);
      keep(g2, blue);
      keep(load(x.d_depth + r), depth);
      keep(light, behind);
      found += hn::CountTrue(d, some);
      if constexpr (kAsk) {  // past the end it does no harm
        __builtin_prefetch(x.ray_begin + r + kRaysAhead + kLanes);
        for (const float* p : {x.d_color, x.d_color + n, x.d_color + 2 * n, x.background, x.background + n,
                               x.background + 2 * n, x.d_opacity, x.d_depth})
          __builtin_prefetch(p + r + kRaysAhead);
      }
    }
    return found;
  }
};

/// Results of samples [first, ...) of a thread: red, green, blue, density.
template <bool kStream>
struct Results {
  float* row[4];
  int64_t first;
  HWY_ALIGN float open[4][16] = {};  // of the vector in which a piece ended
  HWY_ALIGN float line[4][16];       // what there is of the line that is being streamed

  Results(const CompositeBwd::Args<float>& x, int64_t begin)
      : row{x.d_rgb, x.d_rgb + x.shape.samples, x.d_rgb + 2 * x.shape.samples, x.d_density_raw},
        first(begin) {}
  /// Where vectors are shorter than lines, a line streamed in parts, with parts of other lines between them, would reach memory
  /// in parts, at half the speed or less: its parts are kept until it is whole.
  HWY_INLINE void put(V v, int c, int64_t i) {
    const D d;
    if constexpr (!kStream) {
      hn::StoreU(v, d, row[c] + i);
    } else if constexpr (kLanes == kLine) {
      hn::Stream(v, d, row[c] + i);
    } else {
      const int64_t at = i % kLine, begin = i - at;
      if (begin < first) return hn::StoreU(v, d, row[c] + i);  // a line that is another thread's, too
      hn::Store(v, d, line[c] + at);
      if (at + kLanes < kLine) return;
      for (int64_t k = 0; k < at; k += kLanes) hn::Stream(hn::Load(d, line[c] + k), d, row[c] + begin + k);
      hn::Stream(v, d, row[c] + i);
    }
  }
  /// Of a piece of samples [from, to) that begins or ends within the vector.
  HWY_INLINE void put_part(V v, int c, int64_t i, int64_t from, int64_t to) {
    const D d;
    if (i < from) v = hn::IfThenElse(hn::FirstN(d, size_t(from - i)), hn::Load(d, open[c]), v);
    if (i >= first && i + kLanes <= to) return put(v, c, i);
    hn::Store(v, d, open[c]);
    if (i + kLanes <= to) close(c, i, i + kLanes);
  }
  /// The end of the thread's samples: what has been kept.
  void finish(int64_t end) {
    const int64_t vector = end / kLanes * kLanes, begin = end / kLine * kLine;
    for (int c = 0; c < 4 && first < end; ++c) {
      if (vector < end) close(c, vector, end);
      if (kStream && begin >= first) std::copy_n(line[c], vector - begin, row[c] + begin);
    }
  }

 private:
  /// Lanes that belong to this thread, up to sample `end`.
  void close(int c, int64_t i, int64_t end) const {
    const int64_t begin = std::max(i, first);
    std::copy(open[c] + (begin - i), open[c] + (end - i), row[c] + begin);
  }
};

/// Lane i gets lane i - 1 of v, lane 0 the last lane of the vector before, which `carry` takes along.
HWY_INLINE V push(V v, V& carry) {
  const D d;
  const V turned = lanes_up(d, v, 1);
  const V pushed = hn::IfThenElse(hn::FirstN(d, 1), carry, turned);
  carry = turned;
  return pushed;
}

/// One value a ray, spread over the lanes of its samples.
HWY_INLINE V spread(const float* of_rays, hn::Vec<DI> which) {
  const D d;
  return hn::TableLookupLanes(hn::LoadU(d, of_rays), hn::IndicesFromVec(d, which));
}

/// Whether all rows of results begin with a line.
inline bool whole_lines(const CompositeBwd::Args<float>& x) {
  const Results<true> rows(x, 0);
  return std::all_of(rows.row, rows.row + 4,
                     [](const float* p) { return reinterpret_cast<uintptr_t>(p) % 64 == 0; });
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
