// Small forms of trained fields for pages: voxels of any field with a density, Gaussians without dependence on the view.
#pragma once

#include "labs/radiance/evaluate/field_points.h"
#include "labs/radiance/splat/gaussian_model.h"

namespace klab {

struct BakeOptions {
  int64_t grid = 128;     // cells along an edge, a power of two
  int64_t sh_degree = 1;  // of the colors, 0 to 2
  bool even = false;      // cells of one size, also in a large box
};

/// Returns voxels that show what the field shows. A vertex has the mean density of eight points around it, and harmonics
/// fitted to the colors that directions all around see; cells that absorb almost nothing are left out. Throws
/// std::runtime_error if nothing is left.
VoxelModel baked_voxels(FieldPoints& field, const Placement& placement, const BakeOptions& options);

/// Returns the same Gaussians with colors of degree 0.
GaussianModel plain_gaussians(const GaussianModel& model);

}  // namespace klab
