#include "labs/17_neural_image/train/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/field/random.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {
namespace {

int64_t table_parameters(const FitOptions& o, int64_t finest, int64_t log2_table) {
  return o.features * hashgrid_entries(hashgrid_levels({.n = 0,
                                                        .dim = 2,
                                                        .levels = o.levels,
                                                        .features = o.features,
                                                        .log2_table = log2_table,
                                                        .base = o.base_resolution,
                                                        .finest = finest}));
}

}  // namespace

ImageFit::ImageFit(const Image& image, const FitOptions& options, const Plan& plan)
    : image_(image), options_(options), plan_(plan) {
  // The finest level has about one cell for every two pixels along the longer side: finer ones would only
  // learn the pixel grid by heart.
  finest_ = std::max<int64_t>(options_.base_resolution, std::max(image.width, image.height) / 2);
  const int64_t pixels = int64_t(image.width) * image.height;
  if (options_.log2_table == 0) {
    options_.log2_table = 8;
    const int64_t networks = mlp_weights(mlp_shape(0));
    while (options_.log2_table < 24 &&
           table_parameters(options_, finest_, options_.log2_table + 1) + networks <= pixels / 4)
      ++options_.log2_table;
  }
  table_ = Array<float>(table_parameters(options_, finest_, options_.log2_table));
  weights_ = Array<float>(mlp_weights(mlp_shape(0)));
  const Draws table(options_.seed, 0, 200);
  for (int64_t i = 0; i < table_.size(); ++i) table_[i] = 2e-4F * (table.unit(uint64_t(i)) - 0.5F);
  xavier_uniform(mlp_shape(0), options_.seed, 201, weights_.data());
  table_state_ = OptimizerState(table_.size(), options_.features);
  weights_state_ = OptimizerState(weights_.size(), weights_.size());
  const int64_t n = options_.batch;
  positions_ = Array<float>(2 * n);
  features_ = Array<float>(options_.levels * options_.features * n);
  d_features_ = Array<float>(options_.levels * options_.features * n);
  rgb_ = Array<float>(3 * n);
  target_ = Array<float>(3 * n);
  d_rgb_ = Array<float>(3 * n);
  loss_ = Array<float>(n);
  d_loss_ = Array<float>(n);
}

std::array<int64_t, 8> ImageFit::hash_shape(int64_t n) const {
  return {n,       2, options_.levels, options_.features, options_.log2_table, options_.base_resolution,
          finest_, 0};
}
std::array<int64_t, 6> ImageFit::mlp_shape(int64_t n) const {
  return {n, options_.levels * options_.features, options_.width, options_.hidden, 3, 0};
}

void ImageFit::evaluate(int64_t n) {
  profile_.time("hashgrid_fwd", [&] {
    plan_.run("hashgrid_fwd", hash_shape(n), {positions_.data(), table_.data(), nullptr, features_.data()});
  });
  profile_.time("mlp_fwd", [&] {
    plan_.run("mlp_fwd", mlp_shape(n), {features_.data(), weights_.data(), rgb_.data()});
  });
}

double ImageFit::step(double progress) {
  const int64_t n = options_.batch;
  profile_.time("pixels", [&] {
    const Draws draws(options_.seed, uint64_t(step_), 210);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
      const int64_t x = draws.below(uint64_t(2 * i), image_.width),
                    y = draws.below(uint64_t(2 * i + 1), image_.height);
      positions_[i] = (float(x) + 0.5F) / float(image_.width);
      positions_[n + i] = (float(y) + 0.5F) / float(image_.height);
      for (int64_t c = 0; c < 3; ++c) target_[c * n + i] = float(image_.at(int(x), int(y))[c]) / 255.0F;
    }
  });
  evaluate(n);
  double loss = 0;
  const std::array<int64_t, 2> loss_shape = {n, 0};
  profile_.time("loss", [&] {
    std::fill_n(d_loss_.data(), n, 1.0F / float(n));
    plan_.run("pixel_loss_fwd", loss_shape, {rgb_.data(), target_.data(), loss_.data()});
    plan_.run("pixel_loss_bwd", loss_shape, {rgb_.data(), target_.data(), d_loss_.data(), d_rgb_.data()});
    for (int64_t i = 0; i < n; ++i) loss += loss_[i];
  });
  if (!std::isfinite(loss)) throw std::runtime_error(fmt::format("step {}: the loss is not finite", step_));
  profile_.time("mlp_bwd", [&] {
    plan_.run("mlp_bwd", mlp_shape(n),
              {features_.data(), weights_.data(), d_rgb_.data(), d_features_.data(),
               weights_state_.gradient.data()});
  });
  profile_.time("hashgrid_bwd", [&] {
    plan_.run("hashgrid_bwd", hash_shape(n),
              {positions_.data(), d_features_.data(), table_state_.gradient.data()});
  });
  profile_.time("adam", [&] {
    AdamSettings adam;
    adam.learning_rate = options_.learning_rate *
                         (options_.final_rate + (1 - options_.final_rate) * 0.5 *
                                                    (1 + std::cos(M_PI * std::clamp(progress, 0.0, 1.0))));
    adam_step(plan_, adam, options_.features, table_, table_state_);
    adam_step(plan_, adam, weights_.size(), weights_, weights_state_);
  });
  ++step_;
  return loss / double(n);
}

std::vector<uint8_t> ImageFit::render() {
  const int64_t pixels = int64_t(image_.width) * image_.height;
  std::vector<uint8_t> out(size_t(3 * pixels));
  for (int64_t begin = 0; begin < pixels; begin += options_.batch) {
    const int64_t n = std::min(options_.batch, pixels - begin);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = (begin + i) / image_.width, column = (begin + i) % image_.width;
      positions_[i] = (float(column) + 0.5F) / float(image_.width);
      positions_[n + i] = (float(row) + 0.5F) / float(image_.height);
    }
    evaluate(n);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t c = 0; c < 3; ++c) out[size_t(3 * (begin + i) + c)] = to_byte(rgb_[c * n + i]);
  }
  return out;
}

double image_psnr(const Image& image, std::span<const uint8_t> pixels) {
  double sum = 0;
  const size_t n = size_t(image.width) * size_t(image.height);
  for (size_t i = 0; i < n; ++i)
    for (size_t c = 0; c < 3; ++c) {
      const double d = (double(image.rgba[i * 4 + c]) - double(pixels[i * 3 + c])) / 255.0;
      sum += d * d;
    }
  return -10 * std::log10(sum / double(3 * n));
}

}  // namespace klab
