// One training step of the hash field: its programs of ops. Steps on the processor and on a GPU differ in a few
// sizes only (StepSizes), and in the rungs that a plan puts in the place of the ops.
//
//   loss = 1/R · sum over the R whole rays of pixel loss (mse, huber or smooth L1, lab 14) and terms on rays and their samples
//        + 1/P · sum over P points of terms on their own points
//
// with each term (labs/radiance/loss/terms.h) times its weight in the config.
#pragma once

#include <array>
#include <vector>

#include "harness/program/plan.h"
#include "labs/radiance/field/model.h"
#include "labs/radiance/train/ray_step.h"
#include "labs/radiance/train/step_formats.h"

namespace klab {

/// Returns the numbers for marching and for leaving out invisible samples; the others are zero.
StepNumbers marching_numbers(const Config& config, const Placement& placement);
inline constexpr std::array kFiniteChecks = {"density", "color", "the hash features"};

class TrainStep : public RayStep {
 public:
  using Data = ViewData;
  TrainStep(Memory& memory, const Config& config, int cascades, const Data& data, const StepSizes& sizes,
            const StepFormats& formats = {}, StepPart part = {});

  // Tensors that are used outside of the programs. Most are mirrors of arrays of the host.
  std::array<Handle<float>, 3> parameters, gradient, m, v, average;  // by Part
  // Parameters in fewer bits in place of these, where StepFormats::held says so; for pictures only.
  std::array<Handle<uint16_t>, 3> halves;
  std::array<Handle<int8_t>, 3> bytes;
  std::array<Handle<float>, 3> factors;
  std::array<Handle<int32_t>, 3> steps;
  Handle<float> scales;                  // [levels] of the table, and
  Handle<int64_t> level_sizes;           // [levels] entries of each, where hashtable_fwd reads them
  Handle<uint8_t> bits;                  // of the grid, and
  Handle<float> cell_values;             // its values
  Handle<int32_t> occupied;              // number of occupied cells
  Handle<int32_t> chosen, chosen_count;  // cells that the last update of the grid evaluates
  Count all_cells;                       // to be set: whether that is all of them
  Count closed_levels;                   // to be set: how many of the finest levels do not learn yet

  /// Program: loss and gradient of a batch. With composite_loss_bwd in the plan, pixel loss and samples' gradients are one call, if
  /// fusable(). The same in two programs, for callers that change the rays' weights in between: up to the samples that count, and
  /// the rest.
  void loss_and_gradient(Ops& ops) const;
  void find_samples(Ops& ops) const;
  void learn_from_samples(Ops& ops) const;
  /// Program: a stretch of a picture, if there are no pictures to learn from (Data::pixels 0).
  void picture(Ops& ops) const;
  /// Program: the optimizer.
  void update(Ops& ops) const;
  /// Program: the average of the weights, every few steps.
  void update_average(Ops& ops) const;
  /// Programs, every few steps: values of the occupancy grid, then its bits. With several trainers each evaluates its part of the
  /// chosen cells (cells_of_pass) and has the values of these only.
  void occupancy(Ops& ops) const;
  void occupancy_bits(Ops& ops) const;

  /// Returns the cells of a pass of an update: pass k has those from chosen[k·cells_of_pass] on, and belongs
  /// to trainer k mod ranks.
  int64_t cells_of_pass() const { return march_capacity(c_); }
  /// Returns the room for marched samples, more than for those with a gradient: rays are marched some way
  /// behind surfaces.
  static int64_t march_capacity(const Config& c) { return 4 * c.batch_samples + c.max_samples_per_ray; }
  /// Returns the rays that `samples` samples usually need: after the grid has learned the empty space, rays have a few each.
  static int64_t usual_rays(int64_t samples) { return std::max<int64_t>(1, samples / 3); }
  /// Steps between two updates of the average, with the decay raised to that power: a pass over all parameters costs
  /// memory traffic that single steps at 0.95 do not repay.
  static constexpr int64_t kAverageEvery = 8;
  /// Points that a term draws in a step. Each takes four evaluations of the density.
  static constexpr int64_t kTermPoints = 1024;

 private:
  static Room room_of(const Config& c);
  void draw_and_march(Ops& ops) const;
  void find_visible(Ops& ops) const;
  void shade(Ops& ops) const;
  void propagate(Ops& ops) const;
  void add_points(Ops& ops) const;
  void check_gradients(Ops& ops) const;

  void encode(Ops& ops, const Count& n, const Handle<float>& at, const Handle<float>& to) const;
  /// Runs a network: of floats, or of weights in fewer bits.
  void network(Ops& ops, Part part, const MlpFwd::Shape& shape, const Handle<float>& x,
               const Handle<float>& y, std::string_view suffix) const;
  void density_network(Ops& ops, const Count& n, const Handle<float>& from, const Handle<float>& to,
                       std::string_view suffix = {}) const;
  void density_back(Ops& ops, const Count& n, const Handle<float>& x, const Handle<float>& d_y,
                    const Handle<float>& d_x, std::string_view suffix = {}) const;
  void close_levels(Ops& ops, const Count& n, const Handle<float>& d_values) const;
  void scatter(Ops& ops, const Count& n, const Handle<float>& at, const Handle<float>& d_values) const;

  void copy_parameters(Ops& ops) const;
  /// Rounds [rows, columns] floats to the format, in place or into another tensor, times a number; does
  /// nothing without a format. Counts lost values in `lost`.
  void round(Ops& ops, std::string_view stage, const NarrowFormat* format, const Handle<float>& from,
             const Handle<float>& to, int64_t rows, const Count& columns, const Handle<float>& factor,
             const Handle<int32_t>& lost) const;
  void round_activation(Ops& ops, const Handle<float>& values, int64_t rows, const Count& columns) const;
  void round_gradient(Ops& ops, const Handle<float>& values, int64_t rows, const Count& columns,
                      bool scaled = false) const;
  void require_finite(Ops& ops, const Handle<float>& values, const Count& n, int check) const;
  void unscale(Ops& ops, const Handle<float>& values, const Count& n, int check) const;

  int64_t size_of(Part part) const;
  int64_t factors_of(Part part) const;  // of its bytes
  /// An entry of the table has one step count; so has each matrix, which always moves as a whole.
  int64_t group_of(Part part) const { return part == Part::table ? c_.features : size_of(part); }

  Config c_;
  int cascades_;
  bool plain_;  // the table
  StepFormats formats_;
  StepPart part_;
  int64_t encoded_, color_inputs_, cells_;
  std::array<Handle<float>, 3>
      used_;  // parameters as the field has them: the masters, or their copies in fewer bits
  Handle<uint16_t> table_half_;  // the table's copy, where formats_.half_table
  Count chosen_cells_;
  struct Evaluated {
    Handle<float> features, geometry;
  };
  std::vector<Evaluated> evaluated_;  // by pass
  Handle<float> features_, color_in_, d_color_in_, d_features_, point_features_, d_point_features_;
};

}  // namespace klab
