// The hash table whose layout is data, on a device: levels, cells and entries. Shared by the CUDA rungs of hashtable_fwd and
// hashtable_bwd.
#pragma once

#include "kernels/common/cuda.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"

namespace klab {
namespace {

/// A level, made by each thread for itself from the arrays of the layout: all threads of a block read the same words.
struct TableDeviceLevel {
  float scale;
  int64_t offset;
  uint32_t points, entries, bits;  // bits 0: dense
};

__device__ __forceinline__ TableDeviceLevel table_device_level(const float* __restrict__ scales,
                                                               const int64_t* __restrict__ sizes, int l) {
  TableDeviceLevel level = {scales[l], 0, 0, uint32_t(sizes[l]), 0};
  for (int k = 0; k < l; ++k) level.offset += sizes[k];
  level.points = uint32_t(ceilf(level.scale)) + 1;
  const double all = double(level.points) * double(level.points) * double(level.points);
  if (all > double(level.entries))
    while ((1U << level.bits) < level.entries) ++level.bits;
  return level;
}

__device__ __forceinline__ uint32_t table_device_spread(uint32_t v) {
  v &= 0x3FFU;
  v = (v | v << 16) & 0x030000FFU;
  v = (v | v << 8) & 0x0300F00FU;
  v = (v | v << 4) & 0x030C30C3U;
  return (v | v << 2) & 0x09249249U;
}

__device__ __forceinline__ uint32_t table_device_word(int hash, uint32_t bits, uint32_t x, uint32_t y,
                                                      uint32_t z) {
  if (hash == table_hash::primes) return x ^ y * 2654435761U ^ z * 805459861U;
  if (hash == table_hash::morton)
    return table_device_spread(x) | table_device_spread(y) << 1 | table_device_spread(z) << 2;
  if (hash == table_hash::tiled) {
    const uint32_t of_x = (bits + 2) / 3, of_y = (bits + 1) / 3, of_z = bits / 3;
    return (x & ((1U << of_x) - 1)) | (y & ((1U << of_y) - 1)) << of_x |
           (z & ((1U << of_z) - 1)) << (of_x + of_y);
  }
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

/// Entry of a grid point, counted from the level's first (table_layout.h).
__device__ __forceinline__ uint32_t table_device_index(const TableDeviceLevel& level, int hash, uint32_t x,
                                                       uint32_t y, uint32_t z) {
  if (level.bits == 0) {
    const uint32_t index = x + level.points * (y + level.points * z);
    return index < level.entries ? index : index - level.entries;
  }
  const uint32_t index = table_device_word(hash, level.bits, x, y, z) & ((1U << level.bits) - 1);
  return index < level.entries ? index : index - (1U << (level.bits - 1));
}

/// One point on one level: lower corner of its cell, and the interpolation's weights.
struct TableDeviceCell {
  uint32_t at[3];
  float fraction[3];
};

__device__ __forceinline__ TableDeviceCell table_device_cell(const float* __restrict__ positions, int64_t n,
                                                             int64_t i, float scale, int blend) {
  TableDeviceCell cell;
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const float p = positions[d * n + i] * scale + 0.5F;
    cell.at[d] = uint32_t(p);  // truncation is floor: p is positive
    const float f = p - float(cell.at[d]);
    cell.fraction[d] = blend == table_blend::nearest  ? 0
                       : blend == table_blend::linear ? f
                                                      : f * f * (3 - 2 * f);
  }
  return cell;
}

/// Entry and weight of corner c.
__device__ __forceinline__ uint32_t table_device_corner(const TableDeviceLevel& level,
                                                        const TableDeviceCell& cell, int hash, int c,
                                                        float& weight) {
  weight = 1;
#pragma unroll
  for (int d = 0; d < 3; ++d) weight *= c >> d & 1 ? cell.fraction[d] : 1 - cell.fraction[d];
  return table_device_index(level, hash, cell.at[0] + (c & 1), cell.at[1] + (c >> 1 & 1),
                            cell.at[2] + (c >> 2));
}

}  // namespace
}  // namespace klab
