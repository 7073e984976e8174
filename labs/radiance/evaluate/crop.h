// A box that pictures are cropped to: cells of a grid outside of it count as empty.
#pragma once

#include <cstdint>
#include <span>

#include "labs/radiance/scene/camera.h"

namespace klab {

/// A box in grid space, both corners included.
struct GridBox {
  Vec3 low, high;

  bool holds(Vec3 p) const {
    return p.x >= low.x && p.x <= high.x && p.y >= low.y && p.y <= high.y && p.z >= low.z && p.z <= high.z;
  }
  bool operator==(const GridBox& b) const {
    return low.x == b.low.x && low.y == b.low.y && low.z == b.low.z && high.x == b.high.x &&
           high.y == b.high.y && high.z == b.high.z;
  }
};

/// Clears the bits of cells whose middle lies outside of the box. `bits` has one bit for each cell in Morton order, as
/// ray_march and voxel_march read them; `middles` has the coordinate of each cell along an edge, the same for all axes.
void clear_outside(const GridBox& box, std::span<const float> middles, std::span<uint8_t> bits);

}  // namespace klab
