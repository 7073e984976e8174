// A batch of rays and the samples along them: from origins and directions to what the networks read.
#pragma once

#include <span>

#include "labs/16_hash_nerf/field.h"

namespace klab {

/// Samples of a batch of rays. Capacities are fixed; `rays` and `samples` are what is in use.
struct RayBatch {
  RayBatch(const Model& model, int64_t max_rays, int64_t max_samples);

  int64_t rays = 0;
  int64_t samples = 0;
  int64_t max_rays, max_samples;
  Array<float> origins, directions;    // [3,rays], grid space
  Array<float> jitter;                 // [rays]
  Array<int32_t> ray_begin;            // [rays+1]
  Array<float> t, delta;               // [samples]
  Array<float> positions;              // [3,samples], in the encoding's [0,1]
  Array<float> sample_directions;      // [3,samples]
  Array<float> background;             // [3,rays]
  Array<float> color, opacity, depth;  // [3,rays], [rays], [rays]

  static int64_t bytes_of(int64_t max_rays, int64_t max_samples);
};

/// Marches the batch's rays through the model's grid: fills ray_begin, t, delta, samples and positions.
void march(const Model& model, const Plan& plan, Profile& profile, RayBatch& batch);

/// Evaluates the field on a marched batch and composites it: density for all samples, then only those in
/// front of what has become opaque (transmittance below early_stop) go on to the color network. Afterwards
/// batch holds the samples that count, field their features, geometry and colors. `parameters` are the arrays
/// to evaluate with, by Part.
void shade(const Model& model, const std::array<const float*, 3>& parameters, const Plan& plan,
           Profile& profile, Field& field, RayBatch& batch);

}  // namespace klab
