// The field: from positions and directions to density and color, by the operations of a plan.
//
// Buffers are feature-major with the current number of samples as stride: row c of an array with n samples
// begins at c*n. They are owned here because the backward pass reads what the forward pass left.
#pragma once

#include "harness/program/plan.h"
#include "harness/program/profile.h"
#include "labs/radiance/field/model.h"

namespace klab {

class Field {
 public:
  /// Room for `capacity` samples.
  Field(const Model& model, const Plan& plan, Profile& profile, int64_t capacity);

  /// Log-density of n points, `positions` [3,n] in the encoding's [0,1]: the first row of what is written to
  /// `geometry` [geometry_features, n]. `features` is [levels*features, n].
  void density(const float* parameters_table, const float* parameters_density, const float* positions,
               int64_t n, float* features, float* geometry) const;
  /// The same into features() and geometry(n); n <= capacity.
  void density(const float* parameters_table, const float* parameters_density, const float* positions,
               int64_t n) {
    density(parameters_table, parameters_density, positions, n, features(), geometry(n));
  }

  int64_t capacity() const { return capacity_; }
  float* features() const { return features_.data(); }     // [levels*features, n]
  float* color_input() const { return color_in_.data(); }  // [directional + geometry, n]
  float* geometry(int64_t n) const { return color_in_.data() + model_.directional() * n; }
  float* rgb() const { return rgb_.data(); }  // [3,n]

  /// Colors of n samples whose geometry rows are in place; `directions` [3,n].
  void color(const float* parameters_color, const float* directions, int64_t n);

  static int64_t bytes_of(const Config& config, int64_t capacity);

 private:
  const Model& model_;
  const Plan& plan_;
  Profile& profile_;
  int64_t capacity_;
  Array<float> features_, color_in_, rgb_;
};

}  // namespace klab
