// Shared by the walks of composite_bwd along the stream, regardless of the ray that a lane belongs to: the
// inputs of a piece's rays. Included by kernel files inside Highway's foreach_target, once a target.
#if defined(KLAB_KERNELS_COMMON_COMPOSITE_RAY_GRADIENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_COMPOSITE_RAY_GRADIENTS_INL_H_
#undef KLAB_KERNELS_COMMON_COMPOSITE_RAY_GRADIENTS_INL_H_
#else
#define KLAB_KERNELS_COMMON_COMPOSITE_RAY_GRADIENTS_INL_H_
#endif

#include <algorithm>
#include <array>

#include "hwy/highway.h"
#include "kernels/common/composite/ray_lanes-inl.h"
#include "kernels/common/composite/ray_results-inl.h"
#include "kernels/common/lanes-inl.h"
#include "reference/composite_bwd/composite_bwd.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kPiece =
    512;  // samples of a piece, if its first ray is no longer; the data in use stays in L1

/// Rays of a piece that have samples, in their order, from [1] on: their inputs and sums. [0] is the ray
/// before, to which lanes of the first vector may belong.
struct Rays {
  // A vector may be stored from any place on.
  using Each = std::array<float, size_t(kPiece) + 33>;
  HWY_ALIGN Each red{}, green{}, blue{}, depth{};  // gradients
  HWY_ALIGN Each behind{};                         // contribution of light from behind the ray to the loss
  HWY_ALIGN Each ends, left;                       // its running sum and the transmittance where it ends
  HWY_ALIGN Each total;                            // the whole sum

  /// Prepares rays [first, last); returns the number of those with samples. kAsk: prefetches for later ones,
  /// too.
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

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
