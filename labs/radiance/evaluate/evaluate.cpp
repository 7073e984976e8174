#include "labs/radiance/evaluate/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

namespace klab {
namespace {

float eight_bits(float v) { return float(to_byte(v)) / 255.0F; }

}  // namespace

double psnr(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = double(eight_bits(a[i])) - double(eight_bits(b[i]));
    sum += d * d;
  }
  return -10 * std::log10(sum / double(a.size()));
}

double ssim(std::span<const float> a, std::span<const float> b, int width, int height,
            const std::vector<int32_t>* counted) {
  constexpr int kRadius = 5;
  if (width <= 2 * kRadius || height <= 2 * kRadius)
    throw std::invalid_argument(
        fmt::format("ssim needs pictures of at least 11x11 pixels, got {}x{}", width, height));
  double window[2 * kRadius + 1], norm = 0;
  for (int i = -kRadius; i <= kRadius; ++i)
    norm += window[i + kRadius] = std::exp(-0.5 * i * i / (1.5 * 1.5));
  for (double& w : window) w /= norm;
  double total = 0;
  int64_t windows = 0;
#pragma omp parallel for schedule(static) reduction(+ : total, windows)
  for (int y = kRadius; y < height - kRadius; ++y) {
    // Vertical pass for the five moments of every column, then the horizontal one.
    std::vector<double> column(size_t(width) * 5);
    for (int c = 0; c < 3; ++c) {
      std::fill(column.begin(), column.end(), 0.0);
      for (int j = -kRadius; j <= kRadius; ++j) {
        for (int x = 0; x < width; ++x) {
          const size_t at = (size_t(y + j) * size_t(width) + size_t(x)) * 3 + size_t(c);
          const double p = double(eight_bits(a[at])), q = double(eight_bits(b[at])), w = window[j + kRadius];
          double* m = column.data() + size_t(x) * 5;
          m[0] += w * p;
          m[1] += w * q;
          m[2] += w * p * p;
          m[3] += w * q * q;
          m[4] += w * p * q;
        }
      }
      for (int x = kRadius; x < width - kRadius; ++x) {
        if (counted != nullptr && !std::ranges::binary_search(*counted, y * width + x)) continue;
        ++windows;
        double m[5] = {0, 0, 0, 0, 0};
        for (int i = -kRadius; i <= kRadius; ++i)
          for (int k = 0; k < 5; ++k) m[k] += window[i + kRadius] * column[size_t(x + i) * 5 + size_t(k)];
        const double va = m[2] - m[0] * m[0], vb = m[3] - m[1] * m[1], cov = m[4] - m[0] * m[1];
        constexpr double c1 = 0.01 * 0.01, c2 = 0.03 * 0.03;
        total +=
            (2 * m[0] * m[1] + c1) * (2 * cov + c2) / ((m[0] * m[0] + m[1] * m[1] + c1) * (va + vb + c2));
      }
    }
  }
  return total / double(windows);  // one a channel
}

std::vector<float> ground_truth(const View& view, bool black) {
  const auto pixels = size_t(view.pixels());
  const Image read = view.image.rgba.empty() ? view.picture() : Image();
  const uint8_t* image = read.rgba.empty() ? view.image.rgba.data() : read.rgba.data();
  std::vector<float> out(pixels * 3);
  for (size_t i = 0; i < pixels; ++i) {
    const uint8_t* p = image + i * 4;
    const float alpha = float(p[3]) / 255.0F;
    for (size_t c = 0; c < 3; ++c) out[i * 3 + c] = alpha * float(p[c]) / 255.0F + (black ? 0.0F : 1 - alpha);
  }
  return out;
}

namespace {

// Copies the truth into pixels without a ray and into masked ones, so that they add no error. Returns their
// share.
double leave_out_what_does_not_count(const View& view, const std::vector<float>& truth,
                                     std::vector<float>& rgb) {
  if (!view.with_ray) return 0;
  std::vector<float> masked = truth;
  for (const int32_t pixel : *view.with_ray)
    std::copy_n(rgb.begin() + 3 * std::ptrdiff_t(pixel), 3, masked.begin() + 3 * std::ptrdiff_t(pixel));
  rgb = std::move(masked);
  return 1 - double(view.with_ray->size()) * 3 / double(rgb.size());
}

}  // namespace

Score evaluate(const Model& model, const Plan& plan, std::span<const View> views, const EachView& each) {
  Renderer renderer(model, plan);
  return evaluate([&](const Camera& camera) { return renderer.render(camera); }, model.placement.black, views,
                  each);
}

Score evaluate(const std::function<Picture(const Camera&)>& render, bool black, std::span<const View> views,
               const EachView& each) {
  if (views.empty()) throw std::invalid_argument("there is no view to evaluate on");
  std::vector<ViewScore> scores;
  for (const View& view : views) {
    const auto begin = std::chrono::steady_clock::now();
    Picture picture = render(view.camera);
    ViewScore s;
    s.view = int64_t(scores.size());
    s.name = view.name;
    s.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::vector<float> truth = ground_truth(view, black);
    s.left_out = leave_out_what_does_not_count(view, truth, picture.rgb);
    s.psnr = psnr(picture.rgb, truth) + 10 * std::log10(1 - s.left_out);
    s.ssim = ssim(picture.rgb, truth, picture.width, picture.height, view.with_ray.get());
    if (each) each(view, picture, s);
    scores.push_back(std::move(s));
  }
  return score_of(std::move(scores), views.front().camera.width, views.front().camera.height, black);
}

Score score_of(std::vector<ViewScore> views, int width, int height, bool black, const Scored& scored) {
  Score score{.scored = scored};
  if (scored.of == 0) score.scored.of = int64_t(views.size());
  double most_without = 0;  // share of a view's pixels
  double ssim_sum = 0;      // sum over the views that have one: a mask may leave no window
  int with_ssim = 0;
  for (const ViewScore& s : views) {
    most_without = std::max(most_without, s.left_out);
    score.psnr += s.psnr / double(views.size());
    if (std::isfinite(s.ssim)) ssim_sum += s.ssim, ++with_ssim;
    score.seconds += s.seconds / double(views.size());
  }
  score.ssim = with_ssim > 0 ? ssim_sum / with_ssim : 0;
  const std::string which = int64_t(views.size()) == score.scored.of
                                ? fmt::format("all {}", views.size())
                                : fmt::format("{} evenly spread of {}", views.size(), score.scored.of);
  const std::string reduced = scored.reduced > 1 ? fmt::format(" (reduced by {} from {}x{})", scored.reduced,
                                                               scored.full_width, scored.full_height)
                                                 : "";
  score.protocol = fmt::format(
      "mean over {} test views of each view's PSNR and SSIM, {}x{}{}, on {}, sRGB clipped to 8 bits; no "
      "test view was trained on",
      which, width, height, reduced, black ? "black" : "white");
  if (most_without > 0)
    score.protocol +=
        fmt::format("; pixels without a ray or behind a mask, up to {:.1f} % of a view, are left out",
                    100 * most_without);
  score.views = std::move(views);
  return score;
}

}  // namespace klab
