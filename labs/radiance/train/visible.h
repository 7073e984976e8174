// Which samples of a marched batch count: those in front of the point where their ray has become opaque.
//
// Finding out takes a density, and that takes the encoding and the first network. So the batch is looked at in
// three goes: at the first samples of every ray, and at the next and the last only of rays not opaque by then. What was computed for
// the samples that count is moved together; the color network and the whole backward pass see nothing else.
#pragma once

#include <vector>

#include "labs/radiance/field/rays.h"

namespace klab {

class VisibleSamples {
 public:
  /// Room for a batch of that size. Model and profile must outlive it.
  VisibleSamples(const Model& model, Profile& profile, int64_t max_rays, int64_t max_samples);

  /// Leaves in a marched batch the samples that count (ray_begin, t, delta, samples, positions), and in `field` their
  /// features and geometry. A ray ends with the sample that brings its transmittance below the config's early_stop.
  void keep(const std::array<const float*, 3>& parameters, Field& field, RayBatch& batch);

 private:
  static constexpr size_t kLooks = 3;
  struct Look {
    Array<float> positions, features, geometry;  // [3,n], [levels*features,n], [geometry_features,n]
    Array<int32_t> begin;                        // [rays+1]
    int64_t n = 0;
  };

  void look(int which, const std::array<const float*, 3>& parameters, Field& field, const RayBatch& batch);
  void gather(int64_t row_count, Array<float> Look::*rows, int64_t n, float* into) const;

  const Model& model_;
  Profile& profile_;
  std::array<Look, kLooks> looks_;
  Array<float> optical_depth_;    // [rays] of the samples looked at
  Array<int32_t> visible_;        // [rays] samples that count
  Array<int32_t> visible_begin_;  // [rays+1]
  std::vector<int32_t> hit_;      // rays with samples that count
};

/// The samples of a marched batch that count, and their colors. Afterwards batch holds these samples, field their features,
/// geometry and colors; composite() makes pixels of them. `parameters` are the arrays to evaluate with, by Part.
void shade(const std::array<const float*, 3>& parameters, Profile& profile, VisibleSamples& visible,
           Field& field, RayBatch& batch);

}  // namespace klab
