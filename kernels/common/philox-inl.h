// Philox 4x32-10 in vectors, for dropout. Included by kernel files inside Highway's foreach_target, once a target.
//
// A product of two words of 32 bits has 64, so a block of four elements takes a lane of 64 bits, in whose lower half each of
// its four words stays. At the end words 0 and 1, and 2 and 3, share a lane, and interleaving lanes of the two vectors gives
// the words of neighbors. Interleaving takes even lanes to one vector and odd lanes to another, so blocks are dealt out
// that way round from the beginning: with 8 lanes, blocks 0 4 1 5 2 6 3 7.
#if defined(KLAB_KERNELS_COMMON_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_PHILOX_INL_H_
#undef KLAB_KERNELS_COMMON_PHILOX_INL_H_
#else
#define KLAB_KERNELS_COMMON_PHILOX_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"
#include "kernels/common/philox.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

/// y[i, end) = x where kept, times `scale`, else 0, for any range.
HWY_INLINE void drop_singly(const float* x, float* y, int64_t i, int64_t end, uint32_t threshold, float scale,
                            const uint32_t* seed, const uint32_t* offset) {
  for (; i < end; ++i) y[i] = philox(uint64_t(i) / 4, seed, offset).w[i % 4] >= threshold ? x[i] * scale : 0;
}

#if HWY_TARGET == HWY_SCALAR  // one lane
HWY_INLINE void drop(const float* x, float* y, int64_t i, int64_t end, uint32_t threshold, float scale,
                     const uint32_t* seed, const uint32_t* offset, bool) {
  drop_singly(x, y, i, end, threshold, scale, seed, offset);
}
#else

/// The words of 2·lanes neighbors: `low` of the first `lanes`, `high` of the others.
template <class DU>
HWY_INLINE void random_words(DU du, uint64_t block, const uint32_t* seed, const uint32_t* offset,
                             hwy::HWY_NAMESPACE::Vec<DU>& low, hwy::HWY_NAMESPACE::Vec<DU>& high) {
  namespace hn = hwy::HWY_NAMESPACE;
  using VU = hn::Vec<DU>;
  const hn::Repartition<uint64_t, DU> dw;
  const auto lane = hn::Iota(dw, 0), half = hn::Set(dw, hn::Lanes(dw) / 2), one = hn::Set(dw, 1);
  const auto dealt =
      hn::Add(hn::ShiftRight<1>(lane), hn::IfThenElseZero(hn::Eq(hn::And(lane, one), one), half));
  const auto counter = hn::Add(hn::Set(dw, block), dealt);
  VU c0 = hn::BitCast(du, counter), c1 = hn::BitCast(du, hn::ShiftRight<32>(counter));
  VU c2 = hn::Set(du, offset[0]), c3 = hn::Set(du, offset[1]);
  uint32_t k0 = seed[0], k1 = seed[1];
  for (int round = 0; round < 10; ++round) {
    const auto a = hn::MulEven(hn::Set(du, 0xD2511F53), c0), b = hn::MulEven(hn::Set(du, 0xCD9E8D57), c2);
    c0 = hn::Xor(hn::Xor(hn::BitCast(du, hn::ShiftRight<32>(b)), c1), hn::Set(du, k0));
    c1 = hn::BitCast(du, b);
    c2 = hn::Xor(hn::Xor(hn::BitCast(du, hn::ShiftRight<32>(a)), c3), hn::Set(du, k1));
    c3 = hn::BitCast(du, a);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  const auto pair = [dw](VU first, VU second) HWY_ATTR {
    return hn::Or(hn::And(hn::BitCast(dw, first), hn::Set(dw, 0xFFFFFFFF)),
                  hn::ShiftLeft<32>(hn::BitCast(dw, second)));
  };
  const auto p = pair(c0, c1), q = pair(c2, c3);
  low = hn::BitCast(du, hn::InterleaveLower(dw, p, q));
  high = hn::BitCast(du, hn::InterleaveUpper(dw, p, q));
}

/// y[i, end) = x where kept, times `scale`, else 0; i is a multiple of 32. Streamed, y begins at a multiple of 64 bytes.
HWY_INLINE void drop(const float* x, float* y, int64_t i, int64_t end, uint32_t threshold, float scale,
                     const uint32_t* seed, const uint32_t* offset, bool stream) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, 16> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const hn::RebindToSigned<decltype(d)> di;
  // Words are compared as signed numbers, which every processor can: the same order with the highest bit turned.
  const auto turn = hn::Set(du, 0x80000000);
  const auto least = hn::BitCast(di, hn::Xor(hn::Set(du, threshold), turn));
  const auto factor = hn::Set(d, scale);
  const auto kept = [=](auto words, const float* p) HWY_ATTR {
    const auto dropped = hn::Gt(least, hn::BitCast(di, hn::Xor(words, turn)));
    return hn::IfThenZeroElse(hn::RebindMask(d, dropped), hn::Mul(hn::LoadU(d, p), factor));
  };
  for (; i + 2 * lanes <= end; i += 2 * lanes) {
    auto low = hn::Zero(du), high = low;
    random_words(du, uint64_t(i) / 4, seed, offset, low, high);
    const auto first = kept(low, x + i), second = kept(high, x + i + lanes);
    if (stream) {
      hn::Stream(first, d, y + i);
      hn::Stream(second, d, y + i + lanes);
    } else {
      hn::StoreU(first, d, y + i);
      hn::StoreU(second, d, y + i + lanes);
    }
  }
  drop_singly(x, y, i, end, threshold, scale, seed, offset);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
