// The occupancy grid: which cells of the volume are worth a sample. It is learned from the field during
// training by the ops occupancy_choose, occupancy_place, occupancy_update and occupancy_bits (lab 13), on the
// arrays of this class.
#pragma once

#include <span>

#include "labs/radiance/field/model.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

class Occupancy {
 public:
  explicit Occupancy(const Model& model);

  /// Marks cells that no training camera sees as empty for good. They would collect floaters that no picture
  /// contradicts. Returns the share of such cells.
  double leave_out_unseen(const Scene& scene);

  /// Counts the occupied cells of a bit field.
  static int64_t occupied(const Array<uint8_t>& bits);

  std::span<float> values() {
    return {values_.data(), size_t(values_.size())};
  }  // [cascades, grid³]; -1: unseen

 private:
  int64_t grid_, cells_;  // of one cascade
  Array<float> values_;
};

}  // namespace klab
