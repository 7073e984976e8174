// Draws training pixels in proportion to their loss, weighted so that the expected gradient is that of all
// pixels alike (importance sampling; for radiance fields in the sources of instant-ngp, T. Mueller et al.
// 2022, as an option).
//
// A view's pixels that have a ray are numbered as draw_rays numbers them and cut into blocks of kBlock. A
// block remembers the mean loss of its drawn pixels. A pixel of a view with n pixels, in block b, is drawn
// with probability
//
//   p = (1 - share)/n + share·e_b/(sum over pixels of e)        e: remembered loss; the mean for blocks never drawn
//   and has the weight 1/(n·p), at most 1/(1 - share)
//
// so that the expectation of weight times gradient is the mean over the view's pixels, for any e. From time
// to time a list of kList pixels is drawn for each view, and draw_rays draws evenly from it: systematic
// sampling, in which each block occurs as often as it should, within less than one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/records/tensor_file.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

class ErrorMap {
 public:
  static constexpr int64_t kBlock = 64, kList = 4096;

  /// For the scene's training views, which must outlive it. The share `share` in [0, 1) of the draws follows
  /// the error.
  ErrorMap(const Scene& scene, double share);

  int64_t views() const { return int64_t(views_.size()); }
  /// Pixels in the lists of all views.
  int64_t listed() const { return kList * views(); }
  /// Returns the probability of pixel i of a view, among those with a ray, by the present losses.
  double probability(int64_t view, int64_t i) const;

  /// Draws all lists again, by the present losses.
  void draw(uint64_t seed, uint64_t turn);
  /// [views, kList], as draw_rays reads them.
  std::span<const int32_t> pixels() const { return pixels_; }
  /// Returns the weight of the pixel at a place of a view's list.
  float weight(int64_t view, int64_t place) const { return weights_[size_t(view * kList + place)]; }
  /// Records a loss of that pixel.
  void learn(int64_t view, int64_t place, float loss);

  /// State for a checkpoint: the present losses, and those at the last drawing of the lists.
  std::vector<TensorView> state() const;
  /// Restores the lists as they were last drawn, after state() was read into.
  void draw_again(uint64_t seed, uint64_t turn);

 private:
  struct Seen {  // a view
    int64_t pixels = 0;
    const std::vector<int32_t>* listed = nullptr;  // those with a ray; null: all
    int64_t first_block = 0, blocks = 0;
    double mean = 1, sum = 0;  // of the remembered losses of blocks; of all pixels' losses
  };
  float loss_of(const Seen& seen, int64_t block) const;
  int64_t pixels_in(const Seen& seen, int64_t block) const;
  void sum_up(Seen& seen) const;

  double share_;
  std::vector<Seen> views_;
  std::vector<float> losses_, drawn_by_;  // by block; negative: unknown
  std::vector<int32_t> pixels_, blocks_;  // [views, kList]
  std::vector<float> weights_;            // [views, kList]
};

/// Origin of a ray of draw_rays: the view, and the place in its list of pixels.
struct DrawnPixel {
  int64_t view, place;
};
DrawnPixel drawn_pixel(const uint32_t seed[2], const uint32_t step[2], int64_t ray, int64_t views,
                       int64_t places);

}  // namespace klab
