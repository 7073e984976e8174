// The part of cast.cpu.03_simd that 04_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using Bits = hn::RebindToUnsigned<Tag>;

/// The parent's formulas, both ways computed and one chosen: lanes have no branches.
template <int digits, int min_exponent, uint32_t cap, uint32_t nan, int bits>
HWY_INLINE hn::Vec<Bits> narrow(hn::Vec<Tag> x) {
  constexpr int drop = 24 - digits;
  constexpr uint32_t least_normal = uint32_t(min_exponent + 127) << 23;
  constexpr uint32_t rebias = uint32_t(min_exponent + 126) << 23;
  constexpr uint32_t adder_bits = uint32_t(min_exponent - digits + 24 + 127) << 23;
  const Tag d;
  const Bits u;
  const hn::RebindToSigned<Tag> s;
  const auto all = hn::BitCast(u, x), size = hn::And(all, hn::Set(u, 0x7FFFFFFFU));
  const auto sign = hn::ShiftLeft<bits - 1>(hn::ShiftRight<31>(all));
  const auto odd = hn::And(hn::ShiftRight<drop>(size), hn::Set(u, 1U));
  const auto normal =
      hn::ShiftRight<drop>(hn::Add(size, hn::Sub(odd, hn::Set(u, rebias - ((1U << (drop - 1)) - 1)))));
  const auto adder = hn::Set(u, adder_bits);
  const auto small = hn::Sub(hn::BitCast(u, hn::Add(hn::BitCast(d, size), hn::BitCast(d, adder))), adder);
  // Sizes have no sign bit, and signed comparisons exist in every instruction set.
  const auto below = hn::Lt(hn::BitCast(s, size), hn::Set(s, int32_t(least_normal)));
  const auto is_nan = hn::Gt(hn::BitCast(s, size), hn::Set(s, 0x7F800000));
  const auto rounded = hn::IfThenElse(hn::RebindMask(u, below), small, normal);
  const auto result = hn::Or(sign, hn::Min(rounded, hn::Set(u, cap)));
  return hn::IfThenElse(hn::RebindMask(u, is_nan), hn::Set(u, nan), result);
}

HWY_INLINE hn::Vec<Bits> to_int8(hn::Vec<Tag> x) {
  const Tag d;
  const Bits u;
  const auto number = hn::IfThenElseZero(hn::Eq(x, x), x);
  const auto whole = hn::NearestInt(hn::Min(hn::Max(number, hn::Set(d, -128.0F)), hn::Set(d, 127.0F)));
  return hn::And(hn::BitCast(u, whole), hn::Set(u, 255U));
}

template <class Out, class Narrow>
HWY_INLINE void each(const Cast::Args<float>& x, int64_t i, int64_t end, const Narrow& narrow) {
  const Tag d;
  const hn::RebindToSigned<Tag> s;
  const hn::Rebind<Out, Tag> o;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto scale = hn::Set(d, *x.scale);
  const auto rounded = [&](const float* from) HWY_ATTR {
    return hn::DemoteTo(o, hn::BitCast(s, narrow(hn::Mul(hn::LoadU(d, from), scale))));
  };
  HWY_ALIGN Out results[16];  // bytes of x.out may lie anywhere: the compiler makes the copy one store
  for (; i + lanes <= end; i += lanes) {
    hn::Store(rounded(x.x + i), o, results);
    std::memcpy(x.out + i * int64_t(sizeof(Out)), results, size_t(lanes) * sizeof(Out));
  }
  if (i == end) return;
  HWY_ALIGN float rest[16] = {};
  std::copy(x.x + i, x.x + end, rest);
  hn::Store(rounded(rest), o, results);
  std::memcpy(x.out + i * int64_t(sizeof(Out)), results, size_t(end - i) * sizeof(Out));
}

/// Numbers [i, end).
void convert(const Cast::Args<float>& x, int64_t i, int64_t end) {
  using V = hn::Vec<Tag>;
  switch (x.shape.format) {
    case Cast::f16:
      return each<uint16_t>(x, i, end, [](V v) HWY_ATTR { return narrow<11, -14, 0x7C00, 0x7FFF, 16>(v); });
    case Cast::bf16:
      return each<uint16_t>(x, i, end, [](V v) HWY_ATTR { return narrow<8, -126, 0x7F80, 0x7FFF, 16>(v); });
    case Cast::e4m3:
      return each<uint8_t>(x, i, end, [](V v) HWY_ATTR { return narrow<4, -6, 0x7E, 0x7F, 8>(v); });
    case Cast::e5m2:
      return each<uint8_t>(x, i, end, [](V v) HWY_ATTR { return narrow<3, -14, 0x7B, 0x7F, 8>(v); });
    default:
      return each<uint8_t>(x, i, end, [](V v) HWY_ATTR { return to_int8(v); });
  }
}
