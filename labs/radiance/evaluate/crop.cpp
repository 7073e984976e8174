#include "labs/radiance/evaluate/crop.h"

namespace klab {

void clear_outside(const GridBox& box, std::span<const float> middles, std::span<uint8_t> bits) {
  const auto last = uint32_t(middles.size()) - 1;
  for (size_t b = 0; b < bits.size(); ++b) {
    if (bits[b] == 0) continue;
    for (uint32_t bit = 0; bit < 8; ++bit) {
      // A coordinate has every third bit of a Morton index.
      uint32_t cell[3] = {};
      for (uint32_t axis = 0; axis < 3; ++axis)
        for (uint32_t k = 0; last >> k != 0; ++k)
          cell[axis] |= uint32_t((uint64_t(b) * 8 + bit) >> (3 * k + axis) & 1) << k;
      if (!box.holds({middles[cell[0]], middles[cell[1]], middles[cell[2]]}))
        bits[b] = uint8_t(bits[b] & ~(1U << bit));
    }
  }
}

}  // namespace klab
