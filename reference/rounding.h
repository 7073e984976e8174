// Numbers that are stored in a format of few bits between ops and computed with as floats: rounded in place, as they would be.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/formats.h"

namespace klab {

/// Outcomes of rounding numbers that were not 0.
struct Lost {
  int64_t numbers = 0;   // that were not 0
  int64_t to_zero = 0;   // those among them that are now
  int64_t infinite = 0;  // those among them that were finite and are infinite now
  double share() const { return numbers == 0 ? 0 : double(to_zero) / double(numbers); }
  void operator+=(const Lost& other) {
    numbers += other.numbers;
    to_zero += other.to_zero;
    infinite += other.infinite;
  }
};

/// decode(f, encode(f, x)) of a float, in a few instructions without a branch, so that compilers make vectors
/// of them.
///
/// A float plus 1.5 times a power of two that many digits above it is rounded by the adder to the digits that
/// are kept, to nearest even; values below the smallest normal number use that number's power of two. Formats
/// that have float's exponent are its upper bits instead, since that power of two may not be a float there.
class Rounding16 {
 public:
  explicit Rounding16(const NarrowFormat& f)
      : drop_(24 - f.digits),
        upper_bits_(f.min_exponent == -126),
        least_(uint32_t(127 + f.min_exponent) << 23),
        most_(std::bit_cast<uint32_t>(float(decode(f, f.largest))) & 0x7F800000U),
        largest_(float(decode(f, f.largest))),
        beyond_(f.saturates ? largest_ : std::numeric_limits<float>::infinity()) {}

  float operator()(float x) const {
    const auto bits = std::bit_cast<uint32_t>(x);
    if (upper_bits_) {
      const uint32_t keep = ~((1U << drop_) - 1);
      const uint32_t rounded = (bits + ((1U << (drop_ - 1)) - 1) + (bits >> drop_ & 1U)) & keep;
      return std::isnan(x) ? x : std::bit_cast<float>(rounded);
    }
    const uint32_t exponent = std::clamp(bits & 0x7F800000U, least_, most_ + (1U << 23));
    const auto magic = std::bit_cast<float>((exponent + (uint32_t(drop_) << 23)) | 0x00400000U);
    const float rounded = (x + magic) - magic;
    return std::copysign(std::fabs(rounded) > largest_ ? beyond_ : rounded, x);
  }

 private:
  int drop_;
  bool upper_bits_;
  uint32_t least_, most_;
  float largest_, beyond_;
};

/// to[i] = factor·from[i], rounded to the format; the arrays may be the same. Returns the counts of outcomes.
inline Lost round_to(const NarrowFormat& format, float factor, const float* from, float* to, int64_t n) {
  const Rounding16 rounding(format);
  Lost lost;
  int64_t numbers = 0, to_zero = 0, infinite = 0;
#pragma omp parallel for schedule(static) reduction(+ : numbers, to_zero, infinite) if (n > (1 << 15))
  for (int64_t i = 0; i < n; ++i) {
    const float x = factor * from[i], y = rounding(x);
    numbers += x != 0;
    to_zero += x != 0 && y == 0;
    infinite += std::isfinite(x) && std::isinf(y);
    to[i] = y;
  }
  lost.numbers = numbers;
  lost.to_zero = to_zero;
  lost.infinite = infinite;
  return lost;
}

}  // namespace klab
