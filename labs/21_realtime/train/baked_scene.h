// A scene as baked_rays reads it: voxels whose numbers have eight bits, and how far each empty cell is from a filled one.
#pragma once

#include <span>
#include <vector>

#include "labs/21_realtime/train/pixel_source.h"
#include "labs/radiance/field/voxels.h"
#include "reference/baked_rays/baked_rays.h"

namespace klab {

struct BakedScene {
  Placement placement;
  int64_t grid = 0, basis = 0;    // cells along an edge; harmonics of a color, 1 or 4
  NarrowArray<int8_t> table;      // [rows,4,basis]
  std::vector<float> factors;     // [4,basis]
  Array<int32_t> links;           // [(grid+1)³]
  NarrowArray<uint8_t> distance;  // [grid³]

  int64_t rows() const { return table.size() / (4 * basis); }
  int64_t held_bytes() const { return table.bytes() + links.bytes() + distance.bytes(); }
};

/// Returns the scene of voxels of floats: each number of a row is rounded to a multiple of 1/127 of its largest magnitude in
/// the table. Throws std::runtime_error for cells that grow outwards, and for harmonics of degree 2.
BakedScene baked_scene(const VoxelModel& voxels, const Plan& plan);

/// Returns the calls of a scene's making and of its pictures, for a plan.
std::vector<PlannedCall> baked_calls(int64_t grid, int64_t rows, int64_t basis);

/// Pixels of a baked scene.
class BakedPixels : public PixelSource {
 public:
  static constexpr double kStep = 0.75;  // cells from one candidate of a ray to the next
  static constexpr int64_t kRays = 8192;

  /// The scene must outlive it. Rays end at the transmittance `stop`.
  BakedPixels(const BakedScene& scene, Plan plan, double stop);
  void draw(const Camera& camera, std::span<const int32_t> pixels, Picture& out) override;

 private:
  const BakedScene& scene_;
  Plan plan_;
  float settings_[4], background_[3];
  Array<float> origins_, directions_, color_, opacity_, depth_;
};

}  // namespace klab
