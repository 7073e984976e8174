// One training step on a grid of voxels: its programs of ops. train_step.h is the same for the hash field, with the same loss.
#pragma once

#include <array>

#include "harness/program/plan.h"
#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/field/voxels.h"
#include "labs/radiance/train/ray_step.h"

namespace klab {

class VoxelStep : public RayStep {
 public:
  /// For a grid of `grid` cells along an edge and a table of `rows` rows; with another precision than f32 for pictures only.
  VoxelStep(Memory& memory, const VoxelConfig& config, int64_t grid, int64_t rows, const ViewData& data,
            const StepSizes& sizes, StepPart part = {}, Storage precision = Storage::f32);

  enum Table { density, coefficients };  // the two that are learned

  std::array<Handle<float>, 2> parameters, gradient, m, v;  // by Table
  // The numbers in fewer bits, in place of the parameters, where the precision is not f32.
  Handle<uint16_t> few_densities, halves;
  Handle<int8_t> bytes;
  Handle<float> factors;
  std::array<Handle<int32_t>, 2> steps;
  Handle<int32_t> links;
  Handle<uint8_t> bits;

  /// Program: draws rays, cuts them at existing cells, evaluates densities to find the visible samples, colors
  /// these, and computes the loss and its gradient.
  void loss_and_gradient(Ops& ops) const;
  /// Program: the optimizer.
  void update(Ops& ops) const;
  /// Program: a stretch of the pixels of one camera, forward only.
  void picture(Ops& ops) const;

  static int64_t march_capacity(const VoxelConfig& c, int64_t grid) { return 4 * c.batch_samples + 3 * grid; }
  /// Returns the rays that `samples` samples usually need: of those of a pruned grid a few cells count, and half of the rays meet
  /// none.
  static int64_t usual_rays(int64_t samples) { return std::max<int64_t>(1, samples / 4); }
  /// Points that a term draws in a step. Most of them lie in empty space.
  static constexpr int64_t kTermPoints = 4096;

 private:
  static Room room_of(const VoxelConfig& c, int64_t grid);
  void draw_and_march(Ops& ops) const;
  void find_visible(Ops& ops) const;
  void shade(Ops& ops) const;
  void propagate(Ops& ops) const;
  void add_points(Ops& ops) const;
  /// Computes densities, and colors along sample_directions if there is a basis.
  void evaluate(Ops& ops, std::string_view suffix, int64_t basis, const Count& count, const Handle<float>& at,
                const Handle<float>& to) const;
  void scatter(Ops& ops, int64_t basis, const Count& count, const Handle<float>& at,
               const Handle<float>& d_densities) const;
  int64_t size_of(int table) const { return table == density ? rows_ : rows_ * 3 * c_.basis(); }

  VoxelConfig c_;
  int64_t grid_, rows_;
  StepPart part_;
  int64_t held_;                          // format of the coefficients in fewer bits; -1: floats
  std::vector<Handle<float>> densities_;  // logarithms, by pass
};

/// Where a model lies, for a step.
void place(StepNumbers& numbers, const VoxelModel& model);

/// Returns the calls of a step, or of a stretch of a picture, at typical sizes on the finest grid, for a
/// plan.
std::vector<PlannedCall> voxel_calls(const VoxelConfig& config, bool training, int64_t stretch = kAdamStretch,
                                     Storage precision = Storage::f32);

}  // namespace klab
