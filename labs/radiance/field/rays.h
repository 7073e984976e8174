// A batch of rays and the samples along them: computes the networks' inputs from origins and directions.
#pragma once

#include <span>

#include "labs/radiance/field/field.h"

namespace klab {

/// Samples of a batch of rays. Capacities are fixed; `rays` and `samples` are the present counts.
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

/// Returns the calls from marching rays to their colors, for a plan; each is made `times` in a step. `precision` is that of the
/// model's numbers in memory.
std::vector<PlannedCall> shading_calls(const Config& config, int cascades, int64_t rays, int64_t samples,
                                       int64_t capacity, double times = 1, Storage precision = Storage::f32);

/// Marches the batch's rays through the model's grid: fills ray_begin, t, delta and samples.
void march(const Model& model, const Plan& plan, Profile& profile, RayBatch& batch);

/// Returns how many rays at the front of a marched batch surely have all their samples. A ray that did not
/// fit into the batch has no samples, exactly like a ray through empty space; training on it would teach that
/// it hits background. All rays are whole unless the room left could have been too small for one.
int64_t whole_rays(const RayBatch& batch, int64_t max_samples_per_ray);

/// Keeps the first `count` rays of a marched batch.
void keep_rays(RayBatch& batch, int64_t count);

/// Computes the samples' positions from rays and distances, and copies each ray's direction to all of its
/// samples.
void place_samples(const Model& model, RayBatch& batch);
void spread_directions(RayBatch& batch);

/// Computes the rays' colors, opacities and depths from the densities and colors that the field holds.
void composite(const Plan& plan, Profile& profile, Field& field, RayBatch& batch);

}  // namespace klab
