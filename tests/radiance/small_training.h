// A trainer small enough for tests: its configuration and its scene.
#pragma once

#include "labs/radiance/train/trainer.h"

namespace klab {

inline Config small_config() {
  Config c;
  c.levels = 6;
  c.log2_table = 12;
  c.finest_resolution = 128;
  c.batch_samples = 4096;
  c.first_rays = 64;
  c.grid = 32;
  c.steps_per_diagonal = 128;
  c.width = 16;
  return c;
}

inline const Scene& small_scene() {
  static const Scene scene = built_in_scene({.downscale = 16});
  return scene;
}

}  // namespace klab
