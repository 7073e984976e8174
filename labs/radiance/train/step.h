// One training step as lists of ops over one arena. Lists for the processor and for a GPU differ in a few sizes only
// (StepSizes), and in the rungs that a plan puts in the place of the ops.
//
//   loss      draw rays, march them, look at the first samples of each for what is visible, shade that, and back
//   update    the optimizer
//   average   of the weights, every few steps
//   occupancy values and bits of the grid, every few steps
//   color     the pixels of the last batch, where the loss did without them
//   picture   a stretch of the pixels of one camera, forward only
//
//   loss = 1/R · sum over the R whole rays of
//            pixel loss (mse, huber or smooth L1)                      lab 14
//          + opacity_entropy · (-o·ln o)                               ngp_pl
//          + distortion · (how spread out the ray's weights are)       Barron et al. 2022, equation 15
//          + depth · (expected distance - true distance)^2 / 2         where the scene knows it; Deng et al. 2022
//        + total_variation · 1/P · sum over P points and 3 axes of (raw(x + h·axis) - raw(x))^2
//
// with raw the logarithm of the density and h the edge of a cell of the occupancy grid (Yu et al., "Plenoxels", 2022,
// section 3.3, has the same sum over a voxel grid's neighbors).
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "labs/radiance/field/model.h"
#include "labs/radiance/train/op_list.h"
#include "labs/radiance/train/views.h"

namespace klab {

/// The sizes in which a backend may want a step to be cut.
struct StepSizes {
  /// Where each look at the samples of a ray begins. What is behind an opaque sample is not looked at if its look begins
  /// behind it: many looks save evaluations, one look saves launches and room.
  std::vector<int64_t> looks = {0, 8, 24};
  /// Parameters to a call of the optimizer, whose gradient is cleared while it is in a cache; 0: all at once.
  int64_t stretch = 1 << 17;
};

/// What goes into a step from outside, and comes out beside the gradient: one tensor, moved in one piece.
struct StepNumbers {
  static constexpr int32_t kAllFinite = 0x7FFFFFFF;
  struct Adam {
    float rate, beta1, beta2, epsilon, l2;
  };
  uint32_t seed[2] = {}, step[2] = {};
  int32_t rays = 0;   // to draw
  int32_t whole = 0;  // out: rays that count
  int32_t not_finite[3] = {kAllFinite, kAllFinite,
                           kAllFinite};  // out: element, in the order of kFiniteChecks
  float loss = 0;                        // out
  float march[4] = {};                   // near, dt_min, dt_max, cone
  float side = 1, stop = 0, one = 1;
  float entropy = 0, distortion = 0, depth = 0, variation = 0;  // weights of the loss's terms
  float cell = 0;                                               // edge of a cell, in the encoding's [0,1]
  float grid_decay = 0, smallest_step = 0, grid_share = 0, grid_threshold = 0;
  float clip = 0, keep = 0;
  Adam table = {}, networks = {};
  float norm[2] = {};  // out: lengths of the networks' gradients, where they are clipped
  float box[2] = {};   // near and side, of a grid of voxels,
  float empty = 0;     // and what its vertices without a row have
};
/// The address of a number that goes in or comes out, in the tensor that holds them, and the first of several.
template <class T>
T* number_in(int32_t* numbers, T StepNumbers::*member) {
  static const StepNumbers none;
  const auto bytes = reinterpret_cast<const char*>(&(none.*member)) - reinterpret_cast<const char*>(&none);
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(numbers) + uint64_t(bytes));
}
template <class T, size_t count>
T* numbers_in(int32_t* numbers, T (StepNumbers::*member)[count]) {
  return reinterpret_cast<T*>(number_in(numbers, member));
}
/// Those of marching and of leaving out what is invisible; the others are zero.
StepNumbers marching_numbers(const Config& config, const Placement& placement);
inline constexpr std::array kFiniteChecks = {"density", "color", "the hash features"};

/// Tensors and symbols of a step that others than its lists look at.
struct StepTensors {
  // Mirrors of arrays of the host.
  std::array<float*, 3> parameters, gradient, m, v, average;  // by Part
  std::array<int32_t*, 3> steps;
  uint8_t* bits;
  float* values;  // of the grid
  // Data.
  float* cameras;
  int64_t* places;
  uint8_t* image;
  int32_t* seen;  // lists of pixels that have a ray
  float* true_depth;
  int32_t* numbers;            // StepNumbers
  int32_t* occupied;           // cells
  float *opacity, *depth;      // [rays] of the last batch,
  float* color;                // [3,rays] likewise,
  float* target;               // [3,rays] and what it should have been
  int32_t *ray_begin, *begin;  // [rays+1] of the marched samples, and of those that count
  int64_t rays, all_cells;     // symbols, to be set
  int64_t marched, samples;    // symbols, counts of the last step
};

class TrainStep {
 public:
  using Data = ViewData;
  TrainStep(const Config& config, int cascades, const Data& data, const StepSizes& sizes);

  Arena arena;
  StepTensors t;
  OpList occupancy, update, average, color;
  /// Of stretches of a picture, where there are no pictures to learn from (Data::pixels 0): loss() up to the color.
  OpList picture() const;
  /// `fused`: composite_loss_bwd in place of composite_fwd, pixel_loss_fwd, pixel_loss_bwd and composite_bwd, where fusable().
  OpList loss(bool fused) const;

  /// Whether the loss's terms let one op bring the loss of pixels and gradients of samples: not if a term's gradient goes through
  /// opacities or depths.
  static bool fusable(const Config& config) { return !(config.opacity_entropy > 0) && !(config.depth > 0); }
  /// Marched samples per step, over those that are to get a gradient: rays reach some way into what turns out to be behind a
  /// surface.
  static int64_t march_capacity(const Config& c) { return 4 * c.batch_samples + c.max_samples_per_ray; }
  /// Samples with a gradient there is room for: the number of rays follows the last step's, and is off by some.
  static int64_t sample_capacity(const Config& c) {
    return (c.batch_samples + c.batch_samples / 4 + 127) / 128 * 128;
  }
  /// Rays of empty space cost no samples, and those that hit something a few; this bounds how many may come together. One more, so
  /// that there always is a ray that is none, whose samples are padding.
  static int64_t ray_capacity(const Config& c) { return std::max(c.first_rays, c.batch_samples) + 1; }
  /// Points at which a step looks at the total variation. Each takes four evaluations of the density.
  static constexpr int64_t kVariationPoints = 1024;

 private:
  struct Look {
    float *positions, *features, *geometry;
    int32_t* begin;
    int64_t samples;  // symbol
  };
  void declare_state();
  void declare_batch();
  void list_occupancy();
  void list_update();
  void draw_and_march(OpList& list) const;
  void find_visible(OpList& list) const;
  void shade(OpList& list) const;
  void weigh_term(OpList& list, const float* weight) const;
  void lose(OpList& list, bool fused) const;
  void add_distortion(OpList& list) const;
  void add_variation(OpList& list) const;
  void propagate(OpList& list) const;
  void composite(OpList& list) const;
  int64_t size_of(Part part) const;
  /// An entry of the table has one step count; so has each matrix, which always moves as a whole.
  int64_t group_of(Part part) const { return part == Part::table ? c_.features : size_of(part); }
  template <class T>
  T* number(T StepNumbers::*member) const {
    return number_in(t.numbers, member);
  }
  template <class T, size_t count>
  T* numbers(T (StepNumbers::*member)[count]) const {
    return numbers_in(t.numbers, member);
  }

  Config c_;
  int cascades_;
  Data data_;
  StepSizes sizes_;
  std::vector<Look> looks_;
  int64_t padded_, all_features_;
  int32_t *limit_, *chosen_, *chosen_count_;
  float *origins_, *directions_, *jitter_, *backdrop_, *target_depth_, *t_, *delta_, *optical_depth_,
      *weight_;
  float *positions_, *sample_directions_, *sample_t_, *sample_delta_, *features_, *color_in_, *rgb_;
  float *value_, *term_weight_, *d_color_, *d_opacity_, *d_depth_;
  float *weights_, *d_weights_, *d_raw_, *d_rgb_, *d_color_in_, *d_features_;
  float *variation_positions_, *variation_features_, *variation_geometry_, *variation_loss_,
      *variation_weight_, *d_variation_, *d_variation_features_, *ones_;

 public:
  /// Of ones, [kVariationPoints]: filled by who owns the memory, where the total variation is asked for.
  float* ones() const { return ones_; }
};

}  // namespace klab
