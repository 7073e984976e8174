// Adds and removes Gaussians during training.
//
// A Gaussian with a large gradient of its position on the picture tries to show something that it cannot. If
// it is small it is cloned, and the two drift apart; if it is large it is split into two smaller ones, drawn
// from it. Those that have become transparent are removed. (Kerbl et al., "3D Gaussian splatting for
// real-time radiance field rendering", 2023, section 5.)
#pragma once

#include <cstdint>
#include <vector>

#include "labs/radiance/splat/gaussians.h"

namespace klab {

struct DensityOptions {
  double threshold = 2e-4;  // mean gradient of the position, in halves of a picture, above which one is added
  double least_opacity = 0.005;
  double small = 0.01;    // of the cameras' extent: larger ones are split, others cloned
  double large = 0.1;     // of the cameras' extent: larger ones are removed
  int64_t most = 100000;  // Gaussians, at any time
  bool absolute = false;  // gradients of pixels are added up as absolute values
  int64_t budget = 0;     // above 0: no threshold; the number grows to this at the end of the time
  bool relocate =
      false;  // transparent ones move to others, and nothing else above applies but numbers and opacity
  // While it relocates (relocation.h): strength of the noise, and weights of mean opacity and size in the loss.
  double noise = 5e5, opacity_pull = 0.01, size_pull = 0.01;
};

/// Statistics of each Gaussian since the last change.
struct DensityStatistics {
  std::vector<float> pull;    // [n] sum of the position's gradients
  std::vector<int32_t> seen;  // [n] views in which it was drawn

  void reset(int64_t n);
  /// Adds one view; pull_of_view is Painter's d_mean() or pull(), and extent Painter's.
  void add(const std::vector<float>& pull_of_view, const std::vector<float>& extent, int width, int height);
};

/// A changed set, and how it was made.
struct DensityChange {
  GaussianSet set;
  std::vector<int64_t> from;  // for each new Gaussian: the old one it was made from
  // whether it starts without optimizer state: clones, and both halves of a split
  std::vector<uint8_t> fresh;
  int64_t cloned = 0, split = 0, removed = 0;
};

/// Clones, splits and removes Gaussians. `done` is the elapsed share of the time for changes, 0 to 1; it
/// scales the budget; relocation ignores it. `extent` is that of the cameras, in grid units. Keeps at least one Gaussian.
DensityChange change_density(GaussianSet& set, const DensityStatistics& seen, const DensityOptions& options,
                             double extent, double done, bool remove_large, uint64_t seed);

}  // namespace klab
