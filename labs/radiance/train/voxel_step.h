// One training step on a grid of voxels as lists of ops over one arena, like step.h for the hash field.
//
//   loss      draw rays, cut them at existing cells, evaluate densities to find the visible samples, color
//             these, and back
//   update    the optimizer
//   color     the pixels of the last batch, where the loss did without them
//   picture   a stretch of the pixels of one camera, forward only
//
//   loss = 1/R · sum over the R whole rays of the pixel loss
//        + total_variation · 1/P · sum over P points and 3 axes of (raw(x + h·axis) - raw(x))^2,   h the edge of a cell
#pragma once

#include "labs/radiance/field/voxels.h"
#include "labs/radiance/train/step.h"

namespace klab {

class VoxelStep : public RayStep {
 public:
  /// For a grid of `grid` cells along an edge and a table of `rows` rows.
  VoxelStep(const VoxelConfig& config, int64_t grid, int64_t rows, const ViewData& data,
            const StepSizes& sizes, StepPart part = {});

  enum Table { density, coefficients };  // the two that are learned

  struct Tensors : RayTensors {
    std::array<float*, 2> parameters, gradient, m, v;  // by Table
    std::array<int32_t*, 2> steps;
    int32_t* links;
    uint8_t* bits;
  } t;
  OpList update;
  OpList loss(bool fused) const;
  OpList picture() const;

  static int64_t march_capacity(const VoxelConfig& c, int64_t grid) { return 4 * c.batch_samples + 3 * grid; }
  /// Points at which a step evaluates the total variation. Most of them lie in empty space.
  static constexpr int64_t kVariationPoints = 4096;

 private:
  void declare_tables();
  void list_update();
  void draw_and_march(OpList& list) const;
  void find_visible(OpList& list) const;
  void shade(OpList& list) const;
  void propagate(OpList& list) const;
  void add_variation(OpList& list) const;
  void look_at(OpList& list, const std::string& stage, int64_t basis, int64_t samples, const float* positions,
               float* raw) const;
  int64_t size_of(int table) const { return table == density ? rows_ : rows_ * 3 * c_.basis(); }

  VoxelConfig c_;
  int64_t grid_, rows_;
  StepPart part_;
  std::vector<float*> seen_;  // logarithms of densities, by look
  int64_t colors_;
  float *variation_raw_, *d_variation_;
};

/// Where a model lies, for a step.
void place(StepNumbers& numbers, const VoxelModel& model);

/// Returns the calls of a step, or of a stretch of a picture, at typical sizes on the finest grid, for a
/// plan.
std::vector<PlannedCall> voxel_calls(const VoxelConfig& config, bool training);

}  // namespace klab
