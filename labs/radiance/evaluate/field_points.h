// A trained field at points: for surfaces, for fields of another kind that are made from it, and for programs that ask.
#pragma once

#include <memory>

#include "harness/program/plan.h"
#include "labs/radiance/evaluate/field_model.h"

namespace klab {

/// The logarithm of the density where there is nothing.
inline constexpr float kNoValue = -1e30F;

class FieldPoints {
 public:
  virtual ~FieldPoints() = default;
  /// Computes the logarithm of the density, per side of the unit cube, of n points [n] of the grid. Points that pictures
  /// pass over get kNoValue: those outside of the box, and those of empty cells.
  virtual void density(const Vec3* points, int64_t n, float* log_density) = 0;
  /// Computes the colors [n] of points as rays of these directions see them.
  virtual void color(const Vec3* points, const Vec3* directions, int64_t n, Vec3* rgb) = 0;
};

/// The model must outlive it. `plan` has the calls of its pictures. Null for a field without a density: Gaussians.
std::unique_ptr<FieldPoints> field_points(const FieldModel& model, const Plan& plan);

}  // namespace klab
