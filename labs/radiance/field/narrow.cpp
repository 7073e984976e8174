#include "labs/radiance/field/narrow.h"

#include <algorithm>
#include <cstring>

#include "reference/narrow_numbers.h"

namespace klab {

NarrowPart::NarrowPart(Storage precision, int64_t numbers, int64_t count) {
  if (precision == Storage::int8) {
    bytes = NarrowArray<int8_t>(numbers);
    factors = NarrowArray<float>(count);
  } else {
    halves = NarrowArray<uint16_t>(numbers);
  }
}

int64_t narrow_format_of(Storage precision) {
  switch (precision) {
    case Storage::f16:
      return narrow_format::f16;
    case Storage::bf16:
      return narrow_format::bf16;
    case Storage::int8:
      return narrow_format::int8;
    default:
      return -1;
  }
}

void narrow_into(NarrowPart& part, Storage precision, std::span<const float> values,
                 std::span<const Channel> channels, int64_t first, int64_t factor) {
  const Encoded e = encode_numbers(precision, values, channels);
  void* const to = precision == Storage::int8 ? static_cast<void*>(part.bytes.data() + first)
                                              : static_cast<void*>(part.halves.data() + first);
  std::memcpy(to, e.numbers.data(), e.numbers.size());
  if (!e.scales.empty()) std::memcpy(part.factors.data() + factor, e.scales.data(), e.scales.size());
}

void widen_rows(const NarrowPart& part, Storage precision, int64_t rows, int64_t columns, int64_t first,
                int64_t factor, float* out) {
  const int64_t format = narrow_format_of(precision);
  for (int64_t r = 0; r < rows; ++r) {
    const float scale = precision == Storage::int8 ? part.factors[factor + r] : 1;
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t at = r * columns + c;
      out[at] = scale * narrow_number(format, part.halves.data(), part.bytes.data(), first + at);
    }
  }
}

bool has_no_number(const NarrowPart& part, Storage precision) {
  const int exponent = precision == Storage::f16 ? kHalfFormat.infinity : kBfloat16Format.infinity;
  return std::ranges::any_of(part.halves, [&](uint16_t bits) { return (bits & exponent) == exponent; });
}

std::vector<Channel> rows_of(int64_t rows, int64_t columns) {
  std::vector<Channel> list;
  for (int64_t r = 0; r < rows; ++r) list.push_back({r * columns, columns, 1});
  return list;
}

}  // namespace klab
