// Where Gaussians are added and removed while a scene is learned.
//
// A Gaussian whose place on the picture is pulled at strongly stands for something that it cannot show. If it is small it
// is cloned, and the two drift apart; if it is large it is split into two smaller ones, drawn from it. Those that have become
// transparent are removed. (Kerbl et al., "3D Gaussian splatting for real-time radiance field rendering", 2023, section 5.)
#pragma once

#include <cstdint>
#include <vector>

#include "labs/radiance/splat/gaussians.h"

namespace klab {

struct DensityOptions {
  double threshold = 2e-4;  // mean gradient of the place, in halves of a picture, above which one is added
  double least_opacity = 0.005;
  double small = 0.01;    // of the cameras' extent: larger ones are split, others cloned
  double large = 0.1;     // of the cameras' extent: larger ones are removed
  int64_t most = 100000;  // Gaussians, at any time
  int64_t budget = 0;     // above 0: no threshold; as many are added as reach this number at the end
};

/// What was seen of each Gaussian since the last change.
struct DensityStatistics {
  std::vector<float> pull;    // [n] sum of gradients of the place
  std::vector<int32_t> seen;  // [n] views that it was drawn in

  void reset(int64_t n);
  /// Of one view: d_mean, extent as Painter has them.
  void add(const std::vector<float>& d_mean, const std::vector<float>& extent, int width, int height);
};

/// What became of a set.
struct DensityChange {
  GaussianSet set;
  std::vector<int64_t> from;   // of each new Gaussian: the old one that it comes from
  std::vector<uint8_t> fresh;  // whether it begins without a past: clones, and both halves of a split one
  int64_t cloned = 0, split = 0, removed = 0;
};

/// `done`: how far the time for changes has run, 0 to 1; it says how much of the budget there is. `extent`: of the cameras, grid
/// units. At least one Gaussian is kept.
DensityChange change_density(GaussianSet& set, const DensityStatistics& seen, const DensityOptions& options,
                             double extent, double done, bool remove_large, uint64_t seed);

}  // namespace klab
