// One training step as lists of ops over one arena. Lists for the processor and for a GPU differ in a few
// sizes only (StepSizes), and in the rungs that a plan puts in the place of the ops.
//
//   loss      draw rays, march them, evaluate the first samples of each to find the visible ones, shade these,
//             and back
//   update    the optimizer
//   average   of the weights, every few steps
//   occupancy values of the grid, every few steps; and
//   occupancy_bits  the bits, behind that
//   color     the pixels of the last batch, where the loss did without them
//   picture   a stretch of the pixels of one camera, forward only
//
//   loss = 1/R · sum over the R whole rays of
//            pixel loss (mse, huber or smooth L1)                      lab 14
//          + opacity_entropy · (-o·ln o)                               ngp_pl
//          + distortion · (spread of the ray's weights)                Barron et al. 2022, equation 15
//          + depth · (expected distance - true distance)^2 / 2         where the scene knows it; Deng et al. 2022
//        + total_variation · 1/P · sum over P points and 3 axes of (raw(x + h·axis) - raw(x))^2
//
// with raw the logarithm of the density and h the edge of a cell of the occupancy grid (Yu et al.,
// "Plenoxels", 2022, section 3.3, has the same sum over a voxel grid's neighbors).
#pragma once

#include <array>
#include <map>
#include <vector>

#include "labs/radiance/field/model.h"
#include "labs/radiance/train/ray_step.h"
#include "labs/radiance/train/step_formats.h"

namespace klab {

/// Returns the numbers for marching and for leaving out invisible samples; the others are zero.
StepNumbers marching_numbers(const Config& config, const Placement& placement);
inline constexpr std::array kFiniteChecks = {"density", "color", "the hash features"};

/// Tensors and symbols of a step that are used outside of its lists.
struct StepTensors : RayTensors {
  // Mirrors of arrays of the host.
  std::array<float*, 3> parameters, gradient, m, v, average;  // by Part
  std::array<int32_t*, 3> steps;
  float* scales;   // [levels] of the table, and
  int64_t* sizes;  // [levels] entries of each, where hashtable_fwd reads them
  uint8_t* bits;
  float* values;                   // of the grid
  int32_t* occupied;               // cells
  int32_t *chosen, *chosen_count;  // cells that the last update evaluates
  int64_t all_cells;               // symbol, to be set
};

class TrainStep : public RayStep {
 public:
  using Data = ViewData;
  TrainStep(const Config& config, int cascades, const Data& data, const StepSizes& sizes,
            const StepFormats& formats = {}, StepPart part = {});

  StepTensors t;
  /// With several trainers each evaluates its part of the chosen cells (cells_of_look) and has the values of
  /// these only.
  OpList occupancy, occupancy_bits;
  OpList update, average;
  /// Returns the cells of a pass of an update: pass k has those from chosen[k·cells_of_look] on, and belongs
  /// to trainer k mod ranks.
  int64_t cells_of_look() const { return march_capacity(c_); }
  /// Returns the list for stretches of a picture, if there are no pictures to learn from (Data::pixels 0):
  /// loss() up to the color.
  OpList picture() const;
  /// Returns the list of the loss; `fused`: composite_loss_bwd in place of composite_fwd, pixel_loss_fwd,
  /// pixel_loss_bwd and composite_bwd, if fusable().
  OpList loss(bool fused) const;
  /// Return the same in two lists, for callers that change the rays' weights in between: up to the samples
  /// that count, and the rest.
  OpList seen() const;
  OpList shaded(bool fused) const;

  /// Returns whether the loss's terms allow one op for the pixel loss and the samples' gradients: not if a
  /// term's gradient goes through opacities or depths.
  static bool fusable(const Config& config) { return !(config.opacity_entropy > 0) && !(config.depth > 0); }
  /// Returns the room for marched samples, more than for those with a gradient: rays are marched some way
  /// behind surfaces.
  static int64_t march_capacity(const Config& c) { return 4 * c.batch_samples + c.max_samples_per_ray; }
  /// Points at which a step evaluates the total variation. Each takes four evaluations of the density.
  static constexpr int64_t kVariationPoints = 1024;

 private:
  /// Results of a pass.
  struct Seen {
    float *features, *geometry;
  };
  void declare_state();
  void declare_batch();
  void declare_copies();
  void list_occupancy();
  void list_update();
  void copy_parameters(OpList& list) const;
  /// Rounds [rows, columns] floats to the format, in place or into another tensor, times a number; does
  /// nothing without a format. Counts lost values in `lost`.
  void round(OpList& list, const std::string& stage, const NarrowFormat* format, const float* from, float* to,
             int64_t rows, int64_t columns, const float* factor, int32_t* lost) const;
  void round_activation(OpList& list, float* values, int64_t rows, int64_t columns) const;
  void round_gradient(OpList& list, float* values, int64_t rows, int64_t columns, bool scaled = false) const;
  void unscale(OpList& list, float* gradient, int64_t n, int check) const;
  void check_gradients(OpList& list) const;
  void shade_and_lose(OpList& list, bool fused) const;
  void draw_and_march(OpList& list) const;
  void find_visible(OpList& list) const;
  void shade(OpList& list) const;
  void weigh_term(OpList& list, const float* weight) const;
  void lose(OpList& list, bool fused) const;
  void add_distortion(OpList& list) const;
  void add_variation(OpList& list) const;
  void propagate(OpList& list) const;
  /// Looks up features of n points in the table, and scatters their gradients into the table's gradient.
  void look_up(OpList& list, const std::string& stage, int64_t n, const float* positions,
               float* features) const;
  void scatter(OpList& list, const std::string& stage, int64_t n, const float* positions,
               const float* d_features) const;
  int64_t size_of(Part part) const;
  /// An entry of the table has one step count; so has each matrix, which always moves as a whole.
  int64_t group_of(Part part) const { return part == Part::table ? c_.features : size_of(part); }

  Config c_;
  int cascades_;
  bool plain_;  // the table
  StepFormats formats_;
  StepPart part_;
  std::array<float*, 3>
      used_;  // parameters as the field has them: the masters, or their copies in fewer bits
  uint16_t* table_half_ = nullptr;                           // the table's copy, where formats_.half_table
  std::map<std::pair<int64_t, int64_t>, int64_t> products_;  // symbols of rows times columns
  std::vector<Seen> seen_;
  int64_t all_features_;
  float *features_, *color_in_, *term_weight_, *weights_, *d_weights_, *d_color_in_, *d_features_;
  float *variation_features_, *variation_geometry_, *d_variation_, *d_variation_features_;
};

}  // namespace klab
