// Shared by training steps of all fields: draw rays, evaluate marched samples from the front until a ray is
// opaque, composite the samples that count, compare with pixels, and update parameters. A field adds the
// marching of rays, and the density and color of samples.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "labs/radiance/train/batch_share.h"
#include "labs/radiance/train/op_list.h"
#include "labs/radiance/train/views.h"

namespace klab {

/// Sizes that depend on the backend.
struct StepSizes {
  /// First sample of each pass over a ray. Samples behind an opaque one are not evaluated if their pass
  /// begins behind it: many passes save evaluations, a single pass saves launches and memory.
  std::vector<int64_t> looks = {0, 8, 24};
  /// Parameters of an optimizer call, whose gradient is cleared while it is in a cache; 0: all at once.
  int64_t stretch = 1 << 17;
  /// Features are not kept: all passes use one tensor, and the backward looks up the features of the samples
  /// that count again.
  bool recompute = false;
};

/// Inputs of a step, and its outputs besides the gradient: one tensor, copied in one piece.
struct StepNumbers {
  static constexpr int32_t kAllFinite = 0x7FFFFFFF;
  struct Adam {
    float rate, beta1, beta2, epsilon, l2;
  };
  uint32_t seed[2] = {}, step[2] = {};
  int32_t rays = 0;   // to draw
  int32_t whole = 0;  // out: rays that count
  int32_t not_finite[3] = {kAllFinite, kAllFinite,
                           kAllFinite};  // out: element, in the order of a field's checks
  float loss = 0;                        // out
  float march[4] = {};                   // near, dt_min, dt_max, cone
  float volume[2] = {1, 0};              // side, and whether cells grow with their distance from the middle
  float stop = 0, one = 1;
  float entropy = 0, distortion = 0, depth = 0, variation = 0;  // weights of the loss's terms
  float cell = 0;                                               // edge of a cell, in the encoding's [0,1]
  float grid_decay = 0, smallest_step = 0, grid_share = 0, grid_threshold = 0;
  float clip = 0, keep = 0;
  Adam table = {}, networks = {};
  float norm[2] = {};           // out: lengths of the networks' gradients, where they are clipped
  float scale = 1;              // of the loss, where gradients are stored in fewer bits
  int32_t lost[3] = {};         // out: what rounding them did, in the order of round_narrow
  int32_t not_counted[3] = {};  // out: the same of other tensors, which is not used
  float box[3] = {};            // near, side and whether cells grow, of a grid of voxels,
  float empty = 0;              // and the log-density of its vertices without a row
};

/// Returns the address of a number in the tensor of inputs and outputs, or of the first of several.
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

/// The config's choices for drawing rays: the background ("black", "white", "random"), and where a ray passes
/// through its pixel ("middle", "anywhere").
struct RayDraw {
  std::string background, point;
};

/// Draws the requested number of rays: from the views' pixels, or from one camera's pixels in order if there
/// are no views.
void draw_rays(OpList& list, const RayDraw& how, const ViewData& data, const ViewTensors& views,
               int32_t* numbers, const DrawnRays& rays);

/// Tensors and symbols of every step that are used outside of its lists.
struct RayTensors {
  ViewTensors views;
  int32_t* numbers;            // StepNumbers
  float* positions;            // [3,samples] of the last batch's samples that count
  float *weight, *value;       // [rays] weight of a ray in the loss, and its pixel loss
  float *opacity, *depth;      // [rays] of the last batch,
  float* color;                // [3,rays] likewise,
  float* target;               // [3,rays] and its true color
  int32_t *ray_begin, *begin;  // [rays+1] of the marched samples, and of those that count
  float* ones;   // [points of the total variation]: filled by the owner of the memory, if it is used
  int64_t rays;  // symbol, to be set
  int64_t marched, samples;  // symbols, counts of the last step
};

class RayStep {
 public:
  RayStep(const RayStep&) = delete;
  RayStep& operator=(const RayStep&) = delete;

  Arena arena;
  OpList color;  // of the last batch, for a loss without colors

  /// Returns the room for samples with a gradient: the number of rays follows the last step's, so the number
  /// of samples varies.
  template <class C>
  static int64_t sample_capacity(const C& c) {
    return (c.batch_samples + c.batch_samples / 4 + 127) / 128 * 128;
  }
  /// Returns the most rays of a step: rays through empty space need no samples, others a few. One more than
  /// that, so that there is always a dummy ray, which owns the padding samples.
  template <class C>
  static int64_t ray_capacity(const C& c) {
    return std::max(c.first_rays, c.batch_samples) + 1;
  }

 protected:
  /// Capacities of a step.
  struct Room {
    int64_t rays, marched, samples;
    int64_t points = 0;  // for evaluating the total variation
  };
  /// A part of the marched samples.
  struct Look {
    float* positions;
    int32_t* begin;
    int64_t samples;      // symbol
    int64_t first, most;  // of a ray
  };
  /// A learned array with Adam's state.
  struct Learned {
    float *parameters, *gradient, *m, *v;
    int32_t* steps;
  };

  RayStep(RayTensors& tensors, const ViewData& data, const StepSizes& sizes)
      : data_(data), sizes_(sizes), rays_(tensors) {}
  ~RayStep() = default;

  /// Declares all tensors and symbols; to be called first in a constructor.
  void declare(const Room& room);

  void draw(OpList& list, const RayDraw& how) const;
  /// Resets the state of rays; to be called before the first pass.
  void begin_looks(OpList& list) const;
  /// Selects the samples of a pass and computes their positions.
  void place(OpList& list, const Look& look) const;
  /// Computes from the log-densities how far each ray is evaluated.
  void limit(OpList& list, const Look& look, const float* raw) const;
  /// Compacts the samples that count and their positions, after the last pass; a ray has at most `most`
  /// marched ones.
  void count_samples(OpList& list, int64_t most) const;

  void composite(OpList& list) const;
  /// Computes the loss of the pixels and the gradients of raw_ and rgb_ in one call; `kind` as in
  /// pixel_loss_fwd.
  void lose_fused(OpList& list, int64_t kind) const;
  /// Computes the same in several calls: colors, loss and its gradients, to which other terms may add theirs;
  /// then composite_back().
  void lose_pixels(OpList& list, int64_t kind) const;
  void composite_back(OpList& list) const;
  /// Adds the loss of value_ with these weights.
  void add_up(OpList& list, const float* weight) const;

  /// Draws groups of four points, and computes the differences of their log-densities, with the gradient.
  void draw_variation(OpList& list) const;
  void lose_variation(OpList& list, const float* raw, float* d_raw) const;

  /// Applies Adam to the range `own`, a stretch at a time, and clears each stretch's gradient; `group`
  /// numbers share a step count.
  void move(OpList& list, StepNumbers::Adam StepNumbers::*hyper, const Stretch& own, int64_t group,
            const Learned& learned) const;

  template <class T>
  T* number(T StepNumbers::*member) const {
    return number_in(rays_.numbers, member);
  }
  template <class T, size_t count>
  T* numbers(T (StepNumbers::*member)[count]) const {
    return numbers_in(rays_.numbers, member);
  }

  ViewData data_;
  StepSizes sizes_;
  Room room_{};
  std::vector<Look> looks_;
  int64_t padded_;
  int32_t* limit_;
  float *origins_, *directions_, *jitter_, *backdrop_, *target_depth_, *t_, *delta_, *optical_depth_,
      *weight_;
  float *positions_, *sample_directions_, *sample_t_, *sample_delta_, *rgb_, *d_raw_, *d_rgb_;
  float* raw_;  // [samples] logarithms of densities, set by the field
  float *value_, *d_color_, *d_opacity_, *d_depth_;
  float *variation_positions_, *variation_loss_, *variation_weight_;

 private:
  void place(OpList& list, const int32_t* begin, int64_t samples, int64_t first, float* positions) const;
  void begin_at(OpList& list, int64_t first, int64_t most, int64_t capacity, int64_t padded,
                int32_t* begin) const;

  RayTensors& rays_;  // owned by the derived class
};

}  // namespace klab
