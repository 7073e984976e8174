#include "harness/core/element.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "reference/float16.h"

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
  // The largest i64 is not a double: casting 2^63 would overflow.
  const double low = double(std::numeric_limits<T>::lowest()), high = double(std::numeric_limits<T>::max());
  const double whole = std::nearbyint(value);
  if (std::isnan(whole)) return put<T>(array, i, 0);
  if (whole >= high) return put<T>(array, i, std::numeric_limits<T>::max());
  put<T>(array, i, whole <= low ? std::numeric_limits<T>::lowest() : T(whole));
}

}  // namespace

double load(Element element, const void* array, int64_t i) {
  switch (element) {
    case Element::f32:
      return get<float>(array, i);
    case Element::f64:
      return get<double>(array, i);
    case Element::f16:
      return float_from_half(get<uint16_t>(array, i));
    case Element::bf16:
      return float_from_bfloat16(get<uint16_t>(array, i));
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
      return put(array, i, half_from_double(value));
    case Element::bf16:
      return put(array, i, bfloat16_from_double(value));
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
