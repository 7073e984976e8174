// Where a model of any kind lies in the world.
#pragma once

#include <string>

#include "harness/records/tensor_file.h"
#include "labs/radiance/scene/camera.h"

namespace klab {

/// Position of the model's unit cube in the world.
struct Placement {
  int cascades = 1;
  float scale = 1;
  Vec3 offset{};
  float near = 0;
  bool black = false;  // evaluation on black instead of white

  float side() const { return float(1 << (cascades - 1)); }
};

std::string placement_to_json(const Placement& placement);
/// Reads a model file's metadata. Throws std::runtime_error naming file and field.
Placement placement_from(const TensorFile& file);

}  // namespace klab
