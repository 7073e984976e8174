// Vectors of up to 16 floats or integers of 4 bytes: part loads and stores, prefix sums and products, four
// sums at once. Included by kernel files inside Highway's foreach_target, once a target.
#if defined(KLAB_KERNELS_COMMON_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_LANES_INL_H_
#undef KLAB_KERNELS_COMMON_LANES_INL_H_
#else
#define KLAB_KERNELS_COMMON_LANES_INL_H_
#endif

#include <array>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

/// Whether masked loads and stores leave the other elements untouched. AVX2's do, and compilers rely on it,
/// too, when they vectorize `if (c[i]) x[i] = y[i]`. Highway is more careful, and without masks a part goes
/// lane by lane through memory.
constexpr bool kMasks =
    !HWY_MEM_OPS_MIGHT_FAULT || (HWY_TARGET == HWY_AVX2 && HWY_ARCH_X86 && !HWY_IS_ASAN && !HWY_IS_MSAN);

/// Whether it pays to ask for a whole vector first: AVX-512 masks at no cost.
constexpr bool kAskForWhole = !(HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3);

/// The first `count` lanes from p, zero in the others. Touches no memory beyond p + count.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_first(D d, const hwy::HWY_NAMESPACE::TFromD<D>* p, size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  static_assert(sizeof(hn::TFromD<D>) == 4);
  if (kAskForWhole && HWY_LIKELY(count >= hn::Lanes(d))) return hn::LoadU(d, p);
  if constexpr (kMasks) {
    return hn::MaskedLoad(hn::FirstN(d, count), d, p);
  } else {
    HWY_ALIGN hn::TFromD<D> lanes[16] = {};
    for (size_t i = 0; i < count; ++i) lanes[i] = p[i];
    return hn::Load(d, lanes);
  }
}

/// Stores the first `count` lanes; touches nothing beyond p + count, which may belong to another thread.
template <class D, class V>
HWY_INLINE void store_first(V v, D d, hwy::HWY_NAMESPACE::TFromD<D>* p, size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (kAskForWhole && HWY_LIKELY(count >= hn::Lanes(d))) return hn::StoreU(v, d, p);
  if constexpr (kMasks) {
    hn::BlendedStore(v, hn::FirstN(d, count), d, p);
  } else {
    HWY_ALIGN hn::TFromD<D> lanes[16];
    hn::Store(v, d, lanes);
    for (size_t i = 0; i < count; ++i) p[i] = lanes[i];
  }
}

#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2
/// For each mask of eight lanes: its set lanes, from the lowest on, four bits each.
constexpr std::array<uint32_t, 256> kLanesOfMask = [] {
  std::array<uint32_t, 256> lanes{};
  for (uint32_t mask = 0; mask < 256; ++mask)
    for (uint32_t lane = 0, to = 0; lane < 8; ++lane)
      if (mask >> lane & 1) lanes[mask] |= lane << (4 * to++);
  return lanes;
}();
#endif

/// The lanes of v that `kept` has, in their order, from lane 0 on; the lanes behind them hold anything.
template <class D, class V, class M>
HWY_INLINE V compact(D d, V v, M kept) {
  namespace hn = hwy::HWY_NAMESPACE;
  static_assert(sizeof(hn::TFromD<D>) == 4);
#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2
  // Highway's has its table in the function, where compilers rebuild it for every vector: a kilobyte copied
  // each time.
  const hn::RebindToFloat<D> df;
  const auto bits = uint32_t(_mm256_movemask_ps(hn::BitCast(df, hn::VecFromMask(d, kept)).raw));
  const __m256i from = _mm256_srlv_epi32(_mm256_set1_epi32(int32_t(kLanesOfMask[bits])),
                                         _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
  return hn::BitCast(d, decltype(hn::BitCast(df, v)){_mm256_permutevar8x32_ps(hn::BitCast(df, v).raw, from)});
#else
  (void)d;
  return hn::Compress(v, kept);
#endif
}

/// Lane i gets lane i - by, counted around: the lanes below `by` get the last ones.
template <class D, class V>
HWY_INLINE V lanes_up(D d, V v, int by) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  const auto from =
      hn::And(hn::Sub(hn::Iota(di, 0), hn::Set(di, by)), hn::Set(di, int32_t(hn::Lanes(d)) - 1));
  return hn::TableLookupLanes(v, hn::IndicesFromVec(d, from));
}

/// Lane 0 gets carry's lane 0, lane i gets lane i - 1 of v.
template <class D, class V>
HWY_INLINE V shift_in(D d, V v, V carry) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::IfThenElse(hn::FirstN(d, 1), carry, lanes_up(d, v, 1));
}

/// The last lane, in all lanes.
template <class D, class V>
HWY_INLINE V last_lane(D d, V v) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  return hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::Set(di, int32_t(hn::Lanes(d)) - 1)));
}

/// Inclusive prefix sum over the lanes, log2(lanes) steps (Hillis and Steele 1986,
/// "Data parallel algorithms"):
///
///   a  b    c      d          step 1: add the neighbor      a  ab  bc  cd
///                             step 2: add two to the left   a  ab  abc abcd
///
/// The first two steps stay within 16-byte blocks, where a shift brings zeros in.
template <class D, class V>
HWY_INLINE V prefix_sum(D d, V v) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SCALAR  // one lane
  (void)d;
  return v;
#else
  v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
  v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
  // A block lacks the total of the blocks before it, which is in their last lanes.
  const hn::RebindToSigned<D> di;
  const auto lane = hn::Iota(di, 0);
  const int lanes = int(hn::Lanes(d));
  for (int by = 4; by < lanes; by *= 2) {
    // Lane i adds the last lane of the `by` lanes before its own group of `by`, if that group is an odd one.
    const auto group = hn::AndNot(hn::Set(di, by - 1), lane);
    const auto from = hn::And(hn::Sub(group, hn::Set(di, 1)), hn::Set(di, lanes - 1));
    const auto odd = hn::RebindMask(d, hn::Ne(hn::And(lane, hn::Set(di, by)), hn::Zero(di)));
    v = hn::Add(v, hn::IfThenElseZero(odd, hn::TableLookupLanes(v, hn::IndicesFromVec(d, from))));
  }
  return v;
#endif
}

/// Inclusive prefix product over the lanes.
template <class D, class V>
HWY_INLINE V prefix_product(D d, V v) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  const auto lane = hn::Iota(di, 0);
  const auto one = hn::Set(d, 1.0F);
  for (int by = 1; by < int(hn::Lanes(d)); by *= 2) {
    const auto low = hn::RebindMask(d, hn::Lt(lane, hn::Set(di, by)));
    v = hn::Mul(v, hn::IfThenElse(low, one, lanes_up(d, v, by)));
  }
  return v;
}

/// The sums over the lanes of a, b, c and e, to out[0..3]. Adding even to odd lanes of two vectors at a time
/// halves all four sums together: two merges leave one vector, where four separate reductions would each
/// start over.
template <class D, class V>
HWY_INLINE void four_sums(D d, V a, V b, V c, V e, float* HWY_RESTRICT out) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SCALAR  // one lane
  (void)d;
  for (const V v : {a, b, c, e}) *out++ = hn::GetLane(v);
#else
  const auto merge = [d](V high, V low) HWY_ATTR {
    return hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
  };
  V sums = merge(merge(e, c), merge(b, a));
  for (size_t left = hn::Lanes(d) / 4; left > 1; left /= 2) sums = merge(sums, sums);
  // Stored whole: a masked store's data cannot be loaded until it has reached the cache.
  HWY_ALIGN hn::TFromD<D> all[16];
  hn::Store(sums, d, all);
  for (int i = 0; i < 4; ++i) out[i] = all[i];
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
