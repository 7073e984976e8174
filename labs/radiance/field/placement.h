// Where a model of any kind lies in the world.
#pragma once

#include <string>

#include "harness/records/tensor_file.h"
#include "labs/radiance/scene/camera.h"
#include "reference/no_far.h"

namespace klab {

/// Position of the model's unit cube in the world.
struct Placement {
  int cascades = 1;
  float scale = 1;
  Vec3 offset{};
  float near = 0;
  bool black = false;  // evaluation on black instead of white
  /// The field's own axes are y, z and x of the world's: in snapshots of instant-ngp (snapshot.h), which turns its scenes.
  bool yzx = false;
  float far = kNoFar;  // distance at which rays end

  float side() const { return float(1 << (cascades - 1)); }
  /// Returns a point or a direction of the grid, or a camera in it, in the field's own axes.
  Vec3 in_axes(Vec3 v) const { return yzx ? Vec3{v.y, v.z, v.x} : v; }
  Camera in_axes(const Camera& camera) const;
};

std::string placement_to_json(const Placement& placement);
/// Reads a model file's metadata. Throws std::runtime_error naming file and field.
Placement placement_from(const TensorFile& file);

}  // namespace klab
