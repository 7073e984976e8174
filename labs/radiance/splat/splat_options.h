// Settings for training a scene as Gaussians.
#pragma once

#include <cstdint>
#include <string>

#include "labs/radiance/splat/density.h"

namespace klab {

struct SplatOptions {
  int64_t initial = 20000;  // Gaussians at random places
  int degree = 2;           // of the spherical harmonics at the end
  double ssim = 0.2;        // weight of structural similarity in the loss
  // times the cameras' extent, at the start and at the end
  double position_rate = 1.6e-4, last_position_rate = 1.6e-6;
  double scale_rate = 5e-3, rotation_rate = 1e-3, opacity_rate = 5e-2, color_rate = 2.5e-3;
  int64_t density_every = 100, density_from = 300;  // steps
  double density_until = 0.6;                       // of the time
  // steps after which all opacities are reset to nearly transparent
  int64_t reset_every = 3000;
  double reset_until = 0.4;          // of the time
  double exposure_rate = 0;          // of each picture's exposure; 0: none is learned
  std::string background = "scene";  // as in GaussianConfig
  bool antialiased = false;          // GaussianSet::antialiased; a start that is stays so
  DensityOptions density;
};

}  // namespace klab
