#include "harness/core/element.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace klab {
namespace {

template <class T>
T get(const void* array, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(array) + i * int64_t(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void put(void* array, int64_t i, T value) {
  std::memcpy(static_cast<char*>(array) + i * int64_t(sizeof(T)), &value, sizeof(T));
}

template <class T>
void put_integer(void* array, int64_t i, double value) {
  // The largest i64 is no double: 2^63 itself would overflow the cast.
  const double low = double(std::numeric_limits<T>::lowest()), high = double(std::numeric_limits<T>::max());
  const double whole = std::nearbyint(value);
  if (std::isnan(whole)) return put<T>(array, i, 0);
  if (whole >= high) return put<T>(array, i, std::numeric_limits<T>::max());
  put<T>(array, i, whole <= low ? std::numeric_limits<T>::lowest() : T(whole));
}

double half_to_double(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

uint16_t double_to_half(double value) {
  const auto sign = uint16_t(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return 0x7E00;
  const double size = std::abs(value);
  if (size == 0) return sign;
  if (size >= 65520.0) return uint16_t(sign | 0x7C00);
  int exponent = 0;
  std::frexp(size, &exponent);                                  // size = f·2^exponent, f in [1/2, 1)
  const int ulp = std::max(exponent - 11, -24);                 // 11 bits, or the denormals' spacing
  const double steps = std::nearbyint(std::ldexp(size, -ulp));  // ties to even
  if (ulp == -24) return uint16_t(sign | uint16_t(steps));  // a carry becomes the smallest normal by itself
  return uint16_t(sign + ((ulp + 24) << 10) +
                  int(steps));  // steps' leading bit counts the exponent up by one
}

}  // namespace

double load(Element element, const void* array, int64_t i) {
  switch (element) {
    case Element::f32:
      return get<float>(array, i);
    case Element::f64:
      return get<double>(array, i);
    case Element::f16:
      return half_to_double(get<uint16_t>(array, i));
    case Element::bf16:
      return std::bit_cast<float>(uint32_t(get<uint16_t>(array, i)) << 16);
    case Element::i8:
      return get<int8_t>(array, i);
    case Element::u8:
      return get<uint8_t>(array, i);
    case Element::i32:
      return get<int32_t>(array, i);
    case Element::u32:
      return get<uint32_t>(array, i);
    case Element::i64:
      return double(get<int64_t>(array, i));
  }
  return 0;
}

void store(Element element, void* array, int64_t i, double value) {
  switch (element) {
    case Element::f32:
      return put(array, i, float(value));
    case Element::f64:
      return put(array, i, value);
    case Element::f16:
      return put(array, i, double_to_half(value));
    case Element::bf16: {
      uint32_t bits = std::bit_cast<uint32_t>(float(value));
      if (!std::isnan(value)) bits += 0x7FFF + (bits >> 16 & 1);
      return put(array, i, uint16_t(bits >> 16));
    }
    case Element::i8:
      return put_integer<int8_t>(array, i, value);
    case Element::u8:
      return put_integer<uint8_t>(array, i, value);
    case Element::i32:
      return put_integer<int32_t>(array, i, value);
    case Element::u32:
      return put_integer<uint32_t>(array, i, value);
    case Element::i64:
      return put_integer<int64_t>(array, i, value);
  }
}

bool is_integer(Element element) { return unit_roundoff(element) == 0; }

double unit_roundoff(Element element) {
  switch (element) {
    case Element::f64:
      return 0x1p-53;
    case Element::f32:
      return 0x1p-24;
    case Element::bf16:
      return 0x1p-8;
    case Element::f16:
      return 0x1p-11;
    default:
      return 0;
  }
}

double smallest_denormal(Element element) {
  switch (element) {
    case Element::f64:
      return 0x1p-1074;
    case Element::f32:
      return 0x1p-149;
    case Element::bf16:
      return 0x1p-133;
    case Element::f16:
      return 0x1p-24;
    default:
      return 0;
  }
}

double largest(Element element) {
  switch (element) {
    case Element::f64:
      return std::numeric_limits<double>::max();
    case Element::f32:
      return double(std::numeric_limits<float>::max());
    case Element::bf16:
      return 0x1.FEp127;
    case Element::f16:
      return 65504;
    case Element::i8:
      return 127;
    case Element::u8:
      return 255;
    case Element::i32:
      return double(std::numeric_limits<int32_t>::max());
    case Element::u32:
      return double(std::numeric_limits<uint32_t>::max());
    case Element::i64:
      return double(std::numeric_limits<int64_t>::max());
  }
  return 0;
}

}  // namespace klab
