#include "reference/hashtable_fwd/table_layout.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace klab {
namespace {

/// Spreads the bits of v, with two zeros between them.
uint32_t spread(uint32_t v) {
  v &= 0x3FFU;
  v = (v | v << 16) & 0x030000FFU;
  v = (v | v << 8) & 0x0300F00FU;
  v = (v | v << 4) & 0x030C30C3U;
  return (v | v << 2) & 0x09249249U;
}

uint32_t pcg3d(uint32_t x, uint32_t y, uint32_t z) {
  constexpr uint32_t kFactor = 1664525U, kAdded = 1013904223U;
  x = x * kFactor + kAdded;
  y = y * kFactor + kAdded;
  z = z * kFactor + kAdded;
  x += y * z;
  y += z * x;
  z += x * y;
  x ^= x >> 16;
  y ^= y >> 16;
  z ^= z >> 16;
  return x + y * z;
}

/// Returns the entry of a hashed level for its word.
uint32_t fold(uint32_t word, uint32_t entries, uint32_t mask, uint32_t half) {
  const uint32_t index = word & mask;
  return index < entries ? index : index - half;
}

uint32_t bits_for(uint32_t entries) {
  uint32_t bits = 0;
  while ((uint32_t(1) << bits) < entries) ++bits;
  return bits;
}

}  // namespace

TableLevel table_level(float scale, int64_t entries, int64_t offset) {
  if (!(scale >= 0 && scale <= 0x1p20F))
    throw std::invalid_argument("hash table: scale is " + std::to_string(scale) + ", must be from 0 to 2^20");
  if (entries < 8 || entries > int64_t(1) << 28 || entries % 8 != 0)
    throw std::invalid_argument("hash table: a level has " + std::to_string(entries) +
                                " entries, must be a multiple of 8 from 8 to 2^28");
  TableLevel level;
  level.scale = scale;
  level.points = uint32_t(std::ceil(scale)) + 1;
  level.offset = offset;
  level.entries = uint32_t(entries);
  const double all = double(level.points) * double(level.points) * double(level.points);
  level.dense = all <= double(entries);
  if (level.dense) return level;
  level.bits = bits_for(level.entries);
  level.mask = (uint32_t(1) << level.bits) - 1;
  level.half = uint32_t(1) << (level.bits - 1);
  return level;
}

std::vector<TableLevel> table_levels(int64_t levels, const float* scales, const int64_t* sizes) {
  std::vector<TableLevel> list;
  int64_t offset = 0;
  for (int64_t l = 0; l < levels; ++l) {
    list.push_back(table_level(scales[l], sizes[l], offset));
    offset += sizes[l];
  }
  return list;
}

uint32_t table_word(int64_t hash, uint32_t bits, uint32_t x, uint32_t y, uint32_t z) {
  switch (hash) {
    case table_hash::primes:
      return x ^ y * 2654435761U ^ z * 805459861U;
    case table_hash::morton:
      return spread(x) | spread(y) << 1 | spread(z) << 2;
    case table_hash::pcg:
      return pcg3d(x, y, z);
    default: {
      const uint32_t of_x = (bits + 2) / 3, of_y = (bits + 1) / 3, of_z = bits / 3;
      const auto low = [](uint32_t v, uint32_t count) { return v & ((uint32_t(1) << count) - 1); };
      return low(x, of_x) | low(y, of_y) << of_x | low(z, of_z) << (of_x + of_y);
    }
  }
}

uint32_t table_index(const TableLevel& level, int64_t hash, uint32_t x, uint32_t y, uint32_t z) {
  if (level.dense) {
    const uint32_t index = x + level.points * (y + level.points * z);
    return index < level.entries ? index : index - level.entries;
  }
  return fold(table_word(hash, level.bits, x, y, z), level.entries, level.mask, level.half);
}

uint32_t table_origin(int64_t before, int64_t e) {
  const uint32_t bits = bits_for(uint32_t(before));
  return fold(uint32_t(e), uint32_t(before), (uint32_t(1) << bits) - 1,
              bits > 0 ? uint32_t(1) << (bits - 1) : 0);
}

}  // namespace klab
