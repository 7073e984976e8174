// Learned numbers in fewer bits, as ops read them from memory: halves, bfloat16s, or bytes times a factor that several share.
//
// A contract has two pointers for such an array, of which its shape's format says which one holds it; the other is empty.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "reference/float16.h"
#include "reference/generator.h"

namespace klab {

namespace narrow_format {
inline constexpr int64_t f16 = 0;   // halves, in 16 bits
inline constexpr int64_t bf16 = 1;  // bfloat16s, in 16 bits
inline constexpr int64_t int8 = 2;  // -127 ... 127 times a factor
inline constexpr int64_t count = 3;
}  // namespace narrow_format

inline bool is_narrow_format(int64_t format) { return format >= 0 && format < narrow_format::count; }
/// Bytes of a number, without its share of a factor.
inline int64_t narrow_bytes(int64_t format) { return format == narrow_format::int8 ? 1 : 2; }
/// Elements of the array in 16 bits, and of that in 8.
inline int64_t in_halves(int64_t format, int64_t numbers) {
  return format == narrow_format::int8 ? 0 : numbers;
}
inline int64_t in_bytes(int64_t format, int64_t numbers) {
  return format == narrow_format::int8 ? numbers : 0;
}

/// Returns number i; for bytes without its factor. Exact.
inline float narrow_number(int64_t format, const uint16_t* halves, const int8_t* bytes, int64_t i) {
  if (format == narrow_format::int8) return float(bytes[i]);
  return format == narrow_format::f16 ? float_from_half(halves[i]) : float_from_bfloat16(halves[i]);
}

/// Draws numbers of about `size`: usually normal ones, widely of very different sizes with zeros and denormal halves among
/// them. Bytes take all values from -127 on, and their factors bring them to that size.
inline void draw_narrow(int64_t format, int64_t numbers, uint16_t* halves, int8_t* bytes, int64_t factors,
                        float* factor, float size, Generator& random) {
  std::normal_distribution<float> normal;
  const auto spread = [&](int least, int most) {
    return random.widely ? std::ldexp(1.0F, least + int(random() % uint64_t(most - least + 1))) : 1.0F;
  };
  for (int64_t i = 0; i < factors; ++i)
    factor[i] = size / 127 * (0.5F + float(random() % 1024) / 1024) * spread(-12, 3);
  for (int64_t i = 0; i < numbers; ++i) {
    if (format == narrow_format::int8) {
      bytes[i] = int8_t(int(random() % 255) - 127);
      continue;
    }
    const float value = random.widely && random() % 8 == 0 ? 0 : size * normal(random) * spread(-16, 3);
    halves[i] = format == narrow_format::f16 ? half_from_float(std::clamp(value, -65504.0F, 65504.0F))
                                             : bfloat16_from_float(value);
  }
}

}  // namespace klab
