// Compares a model's pictures with the true ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "labs/radiance/evaluate/renderer.h"

namespace klab {

/// Peak signal-to-noise ratio in dB over all channels, values clipped to [0,1] and rounded to 8 bits first.
/// Identical pictures give +infinity.
double psnr(std::span<const float> a, std::span<const float> b);

/// Structural similarity (Wang et al. 2004): Gaussian window of 11 pixels, sigma 1.5, K1 .01, K2 .03, L 1;
/// mean over channels and the pixels whose window fits (as scikit-image with gaussian_weights, without sample
/// covariance). Pictures are [height,width,3]. `counted` lists the pixels whose windows count, in rising
/// order; null: all. Returns NaN if no window counts. Throws std::invalid_argument if the picture is smaller
/// than the window.
double ssim(std::span<const float> a, std::span<const float> b, int width, int height,
            const std::vector<int32_t>* counted = nullptr);

/// Returns the view's picture on the background that the model is evaluated on.
std::vector<float> ground_truth(const View& view, bool black);

struct ViewScore {
  int64_t view = 0;  // its number among those that were to be scored
  std::string name;
  double psnr = 0, ssim = 0;
  double seconds = 0;   // to render
  double left_out = 0;  // share of its pixels that is masked or without a ray
};

/// What of a scene's test views a score is about; the default says nothing, so that all views are meant.
struct Scored {
  int64_t of = 0;                       // test views of the scene; 0: those that were scored
  int reduced = 1;                      // factor by which the first view was made smaller in each direction
  int full_width = 0, full_height = 0;  // of the first view before that
};

struct Score {
  std::vector<ViewScore> views;
  Scored scored;
  double psnr = 0, ssim = 0, seconds = 0;  // means over the views
  std::string protocol;                    // readable description
};

/// Returns means and protocol for views in this order; `width` x `height` is the size of the first one.
Score score_of(std::vector<ViewScore> views, int width, int height, bool black, const Scored& scored = {});

using EachView = std::function<void(const View&, const Picture&, const ViewScore&)>;

/// Evaluates all given views, in order; `each` is called with every picture.
Score evaluate(const Model& model, const Plan& plan, std::span<const View> views, const EachView& each = {});
/// Evaluates pictures from another source, on a black or a white background.
Score evaluate(const std::function<Picture(const Camera&)>& render, bool black, std::span<const View> views,
               const EachView& each = {});

}  // namespace klab
