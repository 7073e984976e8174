// The field: computes density and color from positions and directions, by the operations of a plan.
//
// Buffers are feature-major with the current number of samples as stride: row c of an array with n samples
// begins at c*n. They are owned here because the backward pass reads the results of the forward pass.
#pragma once

#include "harness/program/plan.h"
#include "harness/program/profile.h"
#include "labs/radiance/field/model.h"

namespace klab {

/// Returns whether products of a model in int8 round samples to bytes, too (mlp_int8_fwd): where a plan has found that faster than
/// floats or bfloat16s (mlp_narrow_fwd), or names rungs of it alone.
bool multiplies_bytes(const Plan& plan);

class Field {
 public:
  /// Allocates room for `capacity` samples.
  Field(const Model& model, const Plan& plan, Profile& profile, int64_t capacity);

  /// Computes the log-density of n points, `positions` [3,n] in the encoding's [0,1]. It is the first row of
  /// `geometry` [geometry_features, n]. `features` is [levels*features, n]. A model in fewer bits is read instead of the
  /// parameters, here and for the color.
  void density(const float* parameters_table, const float* parameters_density, const float* positions,
               int64_t n, float* features, float* geometry) const;
  /// Writes the same into features() and geometry(n); n <= capacity.
  void density(const float* parameters_table, const float* parameters_density, const float* positions,
               int64_t n) {
    density(parameters_table, parameters_density, positions, n, features(), geometry(n));
  }

  int64_t capacity() const { return capacity_; }
  float* features() const { return features_.data(); }     // [levels*features, n]
  float* color_input() const { return color_in_.data(); }  // [directional + geometry, n]
  float* geometry(int64_t n) const { return color_in_.data() + model_.directional() * n; }
  float* rgb() const { return rgb_.data(); }  // [3,n]

  /// Computes the colors of n samples whose geometry rows are in place; `directions` [3,n].
  void color(const float* parameters_color, const float* directions, int64_t n);

  static int64_t bytes_of(const Config& config, int64_t capacity);

 private:
  void run_narrow(const char* network, Part part, const MlpFwd::Shape& shape, const float* x, float* y) const;

  const Model& model_;
  const Plan& plan_;
  Profile& profile_;
  int64_t capacity_;
  bool bytes_;  // products of a model in int8 have both factors in bytes
  Array<float> features_, color_in_, rgb_;
};

}  // namespace klab
