// What training steps of all fields share: draw rays, evaluate marched samples from the front until a ray is
// opaque, composite the samples that count, compare with pixels, and update parameters. A field adds the
// marching of rays, and the density and color of samples.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "harness/program/ops.h"
#include "labs/radiance/loss/terms.h"
#include "labs/radiance/train/batch_share.h"
#include "labs/radiance/train/views.h"

namespace klab {

/// Sizes that depend on the backend.
struct StepSizes {
  /// First sample of each pass over a ray. Samples behind an opaque one are not evaluated if their pass
  /// begins behind it: many passes save evaluations, a single pass saves launches and memory.
  std::vector<int64_t> passes = {0, 8, 24};
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
  float march[5] = {};                   // near, dt_min, dt_max, cone, far
  float volume[2] = {1, 0};              // side, and whether cells grow with their distance from the middle
  float stop = 0, one = 1;
  float term[kLossTerms] = {};       // weights of the loss's terms, in the order of their list
  float term_loss[kLossTerms] = {};  // out: weighted values of these terms
  float cell = 0;                    // edge of a cell, in the encoding's [0,1]
  float grid_decay = 0, smallest_step = 0, grid_share = 0, grid_threshold = 0;
  float clip = 0, keep = 0;
  Adam table = {}, networks = {};
  float norm[2] = {};           // out: lengths of the networks' gradients, where they are clipped
  float scale = 1;              // of the loss, where gradients are stored in fewer bits
  int32_t lost[3] = {};         // out: what rounding them did, in the order of round_narrow
  int32_t not_counted[3] = {};  // out: the same of other tensors, which is not used
  float box[4] = {};            // near, side, whether cells grow, and far, of a grid of voxels,
  float empty = 0;              // and the log-density of its vertices without a row
};

/// Sets the weights of the loss's terms: sums over rays have weights of their own, sums over `points` become means here.
void weigh_terms(StepNumbers& numbers, const LossSettings& loss, int64_t points);

/// Returns a number in the tensor of inputs and outputs, or the first of several.
template <class T>
Handle<T> number_in(const Handle<int32_t>& numbers, T StepNumbers::*member) {
  static const StepNumbers none;
  return numbers.as<T>(reinterpret_cast<const char*>(&(none.*member)) - reinterpret_cast<const char*>(&none));
}
template <class T, size_t count>
Handle<T> numbers_in(const Handle<int32_t>& numbers, T (StepNumbers::*member)[count]) {
  static const StepNumbers none;
  return numbers.as<T>(reinterpret_cast<const char*>(none.*member) - reinterpret_cast<const char*>(&none));
}

/// The config's choices for drawing rays: the background ("black", "white", "random"), and where a ray passes
/// through its pixel ("middle", "anywhere").
struct RayDraw {
  std::string background, point;
};

/// Draws the requested number of rays: from the views' pixels, or from one camera's pixels in order if there
/// are no views.
void draw_rays(Ops& ops, const RayDraw& how, const ViewData& data, const ViewTensors& views,
               const Handle<int32_t>& numbers, const DrawnRays& rays);

class RayStep {
 public:
  RayStep(const RayStep&) = delete;
  RayStep& operator=(const RayStep&) = delete;

  ViewTensors views;
  Handle<int32_t> numbers;           // StepNumbers
  Count rays;                        // to be set
  Count marched, samples;            // of the last batch: samples marched, and those that count
  Handle<int32_t> ray_begin, begin;  // [rays+1] of the marched samples, and of those that count
  Handle<float> positions;           // [3,samples]
  Handle<float> weight, value;       // [rays] weight of a ray in the loss, and its pixel loss
  Handle<float> color, target;       // [3,rays] of the last batch, and the true one
  Handle<float> opacity, depth;      // [rays] of the last batch
  Handle<float> ones;                // [points of terms that draw their own]: filled by fill_ones()

  /// What terms get from every step of rays; the true depth comes from the scene.
  static constexpr unsigned kGiven = Term::opacity | Term::depth | Term::densities;
  /// Returns whether the terms allow one op for the pixel loss and the samples' gradients: not if a gradient goes through opacities
  /// or depths.
  static bool fusable(const LossSettings& loss) { return !has_terms(loss, Term::on_rays); }
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

  /// To be called once when memory is allocated.
  void fill_ones(Memory& memory) const;
  /// Program: the pixels of the last batch, where its loss did without them.
  void composite(Ops& ops) const;

 protected:
  /// Capacities of a step, and what it usually has of them.
  struct Room {
    int64_t rays, marched, samples;
    int64_t points;  // of terms that draw their own
    int64_t usual_rays, usual_samples;
  };
  /// Samples of rays that are evaluated together, from the `first` of each ray on.
  struct Pass {
    Count samples;
    Handle<int32_t> begin;
    Handle<float> positions;
    int64_t first, most;  // of a ray
  };
  /// A learned array with Adam's state.
  struct Learned {
    Handle<float> parameters, gradient, m, v;
    Handle<int32_t> steps;
  };

  /// Declares the tensors.
  RayStep(Memory& memory, const Room& room, const LossSettings& loss, const ViewData& data,
          const StepSizes& sizes);
  ~RayStep() = default;

  void draw(Ops& ops, const RayDraw& how) const;
  /// Resets the state of rays; to be called before the first pass.
  void begin_passes(Ops& ops) const;
  /// Selects the samples of a pass and computes their positions.
  void place(Ops& ops, const Pass& pass) const;
  /// Computes from the log-densities how far each ray is evaluated.
  void limit(Ops& ops, const Pass& pass, const Handle<float>& raw) const;
  /// Keeps the samples that count and their positions, after the last pass; a ray has at most `most` marched
  /// ones.
  void keep_visible(Ops& ops, int64_t most) const;

  /// Computes the gradients of raw and rgb, and adds to the loss: that of pixels, and all terms on rays and their samples. `kind`
  /// as in pixel_loss_fwd.
  void loss(Ops& ops, int64_t kind) const;
  /// Adds the terms that act on points of their own. `forward` computes point_raw at point_positions, `backward` propagates
  /// d_point_raw.
  void loss_at_points(Ops& ops, const std::function<void()>& forward,
                      const std::function<void()>& backward) const;

  /// Applies Adam to the range `own`, a stretch at a time, and clears each stretch's gradient; `group`
  /// numbers share a step count. `zero_percent` of the groups have no gradient, as far as is known before (untouched_percent()).
  void adam(Ops& ops, StepNumbers::Adam StepNumbers::*hyper, const Stretch& own, int64_t group,
            const Learned& learned, int64_t zero_percent) const;

  template <class T>
  Handle<T> number(T StepNumbers::*member) const {
    return number_in(numbers, member);
  }
  template <class T, size_t count>
  Handle<T> several(T (StepNumbers::*member)[count]) const {
    return numbers_in(numbers, member);
  }

  ViewData data;
  StepSizes sizes;
  Room room;
  std::vector<Pass> passes;
  int64_t padded = 0;
  Handle<int32_t> limits;
  Handle<float> origins, directions, jitter, backdrop, target_depth, t, delta, optical_depth;
  Handle<float> sample_directions, sample_t, sample_delta, rgb, d_raw, d_rgb;
  Handle<float> raw;  // [samples] logarithms of densities, declared by the field
  Handle<float> d_color, d_opacity, d_depth;
  Handle<float> point_positions;
  Handle<float> point_raw, d_point_raw;  // [4·points] declared by the field

 private:
  struct WeighedTerm {
    const Term* term;
    Handle<float> weight, loss;  // in `numbers`
  };
  void pixel_loss(Ops& ops, int64_t kind) const;
  /// Adds the values of rays to the loss.
  void add_loss(Ops& ops) const;
  void add_terms(Ops& ops, Term::Where where, const TermTensors& lent) const;
  TermTensors tensors_of_rays() const;

  void begin_at(Ops& ops, int64_t first, int64_t most, int64_t capacity, int64_t padding,
                const Handle<int32_t>& to) const;
  void place_at(Ops& ops, const Handle<int32_t>& from, const Count& count, int64_t first,
                const Handle<float>& to) const;

  std::vector<WeighedTerm> terms_;  // those of the settings
  Handle<float> term_weight_, more_gradients_, sample_weights_, d_sample_weights_, point_values_,
      point_weight_;
};

}  // namespace klab
