// Numbers in few bits to vectors of floats (reference/narrow_numbers.h): from memory, or out of words of 32 bits. Included by
// kernel files inside Highway's foreach_target, once a target.
#if defined(KLAB_KERNELS_COMMON_FORMATS_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_FORMATS_WIDEN_INL_H_
#undef KLAB_KERNELS_COMMON_FORMATS_WIDEN_INL_H_
#else
#define KLAB_KERNELS_COMMON_FORMATS_WIDEN_INL_H_
#endif

#include "hwy/highway.h"
#include "reference/narrow_numbers.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A vector of numbers from p on, as floats; bytes without their factors.
template <int64_t kFormat, class D>
HWY_INLINE hn::Vec<D> widen_from(D d, const void* p) {
  const hn::Rebind<uint16_t, D> d16;
  if constexpr (kFormat == narrow_format::int8) {
    const hn::Rebind<int8_t, D> d8;
    const hn::RebindToSigned<D> d32;
    return hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d8, static_cast<const int8_t*>(p))));
  } else if constexpr (kFormat == narrow_format::bf16) {
    const hn::RebindToUnsigned<D> d32;
    return hn::BitCast(
        d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, static_cast<const uint16_t*>(p)))));
  } else {
    const hn::Rebind<hwy::float16_t, D> half;
    return hn::PromoteTo(d, hn::BitCast(half, hn::LoadU(d16, static_cast<const uint16_t*>(p))));
  }
}

/// Number k of each word, as a float, counted from the word's lowest bits.
template <int64_t kFormat, int k, class D>
HWY_INLINE hn::Vec<D> widen_word(D d, hn::Vec<hn::RebindToUnsigned<D>> word) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  if constexpr (kFormat == narrow_format::int8) {
    return hn::ConvertTo(d, hn::ShiftRight<24>(hn::BitCast(di, hn::ShiftLeft<24 - 8 * k>(word))));
  } else if constexpr (kFormat == narrow_format::bf16) {
    return hn::BitCast(d, k == 0 ? hn::ShiftLeft<16>(word) : hn::And(word, hn::Set(du, 0xFFFF0000U)));
  } else {
    const hn::Rebind<uint16_t, D> d16;
    const hn::Rebind<hwy::float16_t, D> half;
    const auto bits = k == 0 ? hn::And(word, hn::Set(du, 0xFFFFU)) : hn::ShiftRight<16>(word);
    return hn::PromoteTo(d, hn::BitCast(half, hn::DemoteTo(d16, hn::BitCast(di, bits))));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
