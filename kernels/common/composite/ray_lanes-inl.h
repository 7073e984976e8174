// Vectors along a stream of samples whose lanes belong to different rays: which lanes belong together, and sums that stop
// at borders. Included by kernel files inside Highway's foreach_target, once a target.
#if defined(KLAB_KERNELS_COMMON_COMPOSITE_RAY_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_COMPOSITE_RAY_LANES_INL_H_
#undef KLAB_KERNELS_COMMON_COMPOSITE_RAY_LANES_INL_H_
#else
#define KLAB_KERNELS_COMMON_COMPOSITE_RAY_LANES_INL_H_
#endif

#include <array>

#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using DU = hn::RebindToUnsigned<D>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using U = hn::Vec<DU>;
using M = hn::Mask<D>;

constexpr int64_t kLanes = int64_t(hn::MaxLanes(D()));
constexpr int64_t kLine = 16;       // floats of a cache line
constexpr int64_t kAhead = 384;     // samples prefetched before their turn
constexpr int64_t kRaysAhead = 64;  // rays

/// Prefetches the element kAhead samples later. Past the end it does no harm.
HWY_INLINE void prefetch(const float* p) { __builtin_prefetch(p + kAhead); }

/// A vector's word has a bit for each lane where a ray begins, and this one.
constexpr uint32_t kAlways = uint32_t(1) << 31;

/// For lane i: [k] the bits of lanes (i - 2^k, i], or the bit that is always set if there are fewer; [4] the
/// bits of all lanes up to i; [5] its own; [6] those of lanes [4, i].
HWY_ALIGN constexpr std::array<std::array<uint32_t, 16>, 7> kBits = [] {
  std::array<std::array<uint32_t, 16>, 7> bits{};
  for (uint32_t i = 0; i < 16; ++i) {
    for (uint32_t k = 0, by = 1; k < 4; ++k, by *= 2)
      bits[k][i] = i < by ? kAlways : ((uint32_t(1) << by) - 1) << (i - by + 1);
    bits[4][i] = (uint32_t(2) << i) - 1;
    bits[5][i] = uint32_t(1) << i;
    bits[6][i] = i < 4 ? kAlways : bits[4][i] & ~15U;
  }
  return bits;
}();

/// Lanes none of whose kBits[k] are set in `word`.
HWY_INLINE M none_of(U word, size_t k) {
  const DU d;
  const U bits = hn::Load(d, kBits[k].data());
#if HWY_TARGET <= HWY_AVX3
  return M{_mm512_testn_epi32_mask(word.raw, bits.raw)};  // compilers make two instructions of the code below
#else
  return hn::RebindMask(D(), hn::Eq(hn::And(word, bits), hn::Zero(d)));
#endif
}

/// Lanes whose bits are set.
HWY_INLINE M mask_of(uint32_t bits) { return hn::Not(none_of(hn::Set(DU(), bits), 5)); }

/// Inclusive sums within rays; `before` is the last vector's result, spread by last_lane.
HWY_INLINE V scan(uint32_t word, V v, V before) {
  const D d;
  const U begins = hn::Set(DU(), word);
#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2
  // Lanes move between halves in eight cycles, within a half in one: sum each half first, then add the carry
  // to the upper one.
  v = hn::Add(v, hn::IfThenElseZero(none_of(begins, 0), hn::ShiftLeftLanes<1>(d, v)));
  v = hn::Add(v, hn::IfThenElseZero(none_of(begins, 1), hn::ShiftLeftLanes<2>(d, v)));
  const V lower = hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::Set(DI(), 3)));
  v = hn::Add(v, hn::IfThenElseZero(none_of(begins, 6), lower));
#else
  for (int k = 0, by = 1; by < int(kLanes); ++k, by *= 2)
    v = hn::Add(v, hn::IfThenElseZero(none_of(begins, size_t(k)), lanes_up(d, v, by)));
#endif
  return hn::Add(v, hn::IfThenElseZero(none_of(begins, 4), before));
}

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

/// Whether at most one ray begins behind the first lane, in bits of lanes.
HWY_INLINE bool few(uint32_t others) { return HWY_LIKELY((others & (others - 1)) == 0); }

/// One value a ray, of two rays: the first where `old`.
HWY_INLINE V choose(M old, const float* of_rays) {
  const D d;
  return hn::IfThenElse(old, hn::Set(d, of_rays[0]), hn::Set(d, of_rays[1]));
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
