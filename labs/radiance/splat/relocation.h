// Densification as a Markov chain: Gaussians are samples of where the scene is.
//
// No gradient decides. Those that have become transparent move to others, drawn by opacity, and share their place: N Gaussians at a
// place get the opacity and the size with which they look together as the one did. Their number grows by a twentieth a time up to the
// budget, noise moves those that show little, and a pull on opacity and size makes what is not needed transparent.
// (Kheradmand et al., "3D Gaussian splatting as Markov chain Monte Carlo", 2024.)
#pragma once

#include <cstdint>

#include "labs/radiance/splat/density.h"

namespace klab {

/// The opacity of each of `copies` Gaussians at one place, and the factor on their size, that look together as one of `opacity`.
struct SharedPlace {
  double opacity = 0, size = 1;
};
SharedPlace shared_place(double opacity, int copies);

/// Moves the transparent Gaussians, and adds some up to options.budget. The returned change keeps the set's order; those that are
/// added follow.
DensityChange relocated(GaussianSet& set, const DensityOptions& options, uint64_t seed);

/// Moves each Gaussian by a random step within its own shape, the further the less it shows. `rate` is the learning rate of
/// positions in grid units, `extent` that of the cameras. The draws depend on seed and step alone.
void add_noise(GaussianSet& set, const DensityOptions& options, double rate, double extent, uint64_t seed,
               int64_t step);

/// Returns the pull: weights times mean opacity and mean size over the cameras' extent. Adds its gradient where one is given.
double pull_of(const GaussianSet& set, const DensityOptions& options, double extent, GaussianSet* gradient);

}  // namespace klab
