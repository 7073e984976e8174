// How far a model's pictures are from the truth.
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
/// covariance). [height,width,3] each. `counted`: pixels, in rising order, whose windows count; null: all. Throws
/// std::invalid_argument when the picture is smaller than the window; NaN when no window counts.
double ssim(std::span<const float> a, std::span<const float> b, int width, int height,
            const std::vector<int32_t>* counted = nullptr);

/// The view's picture on the background the model is evaluated on.
std::vector<float> ground_truth(const View& view, bool black);

struct ViewScore {
  std::string name;
  double psnr = 0, ssim = 0;
  double seconds = 0;   // to render
  double left_out = 0;  // share of its pixels that do not count
};

struct Score {
  std::vector<ViewScore> views;
  double psnr = 0, ssim = 0, seconds = 0;  // means over the views
  std::string protocol;                    // in words
};

/// Of the views in this order, `width` x `height` the first one: means and protocol.
Score score_of(std::vector<ViewScore> views, int width, int height, bool black);

using EachView = std::function<void(const View&, const Picture&, const ViewScore&)>;

/// All given views, in order; `each` sees every picture.
Score evaluate(const Model& model, const Plan& plan, std::span<const View> views, const EachView& each = {});
/// The same with pictures from elsewhere, on a black background or a white one.
Score evaluate(const std::function<Picture(const Camera&)>& render, bool black, std::span<const View> views,
               const EachView& each = {});

}  // namespace klab
