// The occupancy grid: which cells of the volume are worth a sample. Learned from the field while it trains.
//
// Müller et al. 2022, appendix E: every grid_every steps the density of some cells is looked at, at a random
// point of each; a cell keeps max(old·decay, density·smallest step) and counts as occupied above
// min(threshold, mean).
#pragma once

#include <span>

#include "labs/radiance/field/field.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

class Occupancy {
 public:
  Occupancy(Model& model, uint64_t seed);

  /// Fixes cells that no training camera sees as empty. They would collect floaters that no picture
  /// contradicts. Returns the share of such cells.
  double leave_out_unseen(const Scene& scene);

  /// Looks at all cells, or (after the warm-up) at a share of them, and renews the bits in model.occupancy.
  void update(Field& field, int64_t step);

  double occupied_share() const;
  std::span<float> values() {
    return {values_.data(), size_t(values_.size())};
  }  // [cascades, grid³]; -1: unseen

 private:
  void look_at(Field& field, std::span<const int32_t> cells, int64_t step);
  void renew_bits();

  Model& model_;
  uint64_t seed_;
  int64_t cells_;  // of one cascade
  Array<float> values_;
  Array<float> positions_;
};

}  // namespace klab
