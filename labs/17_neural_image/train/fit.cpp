#include "labs/17_neural_image/train/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "harness/program/measure_ops.h"
#include "harness/program/random.h"
#include "labs/radiance/field/optimizer.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "reference/mlp_bwd/mlp_bwd.h"
#include "reference/mlp_fwd/mlp_fwd.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"

namespace klab {
namespace {

// The finest level has about one cell for every two pixels along the longer side: finer levels would only
// memorize the pixel grid.
HashgridShape hash_shape(const FitOptions& o, int width, int height, int64_t n) {
  return {.n = n,
          .dim = 2,
          .levels = o.levels,
          .features = o.features,
          .log2_table = o.log2_table,
          .base = o.base_resolution,
          .finest = std::max<int64_t>(o.base_resolution, std::max(width, height) / 2),
          .coherent = 0};
}

MlpFwd::Shape mlp_shape(const FitOptions& o, int64_t n) {
  return {.n = n, .in = o.levels * o.features, .width = o.width, .hidden = o.hidden, .out = 3, .logistic = 0};
}

int64_t table_parameters(const FitOptions& o, int width, int height) {
  return o.features * hashgrid_entries(hashgrid_levels(hash_shape(o, width, height, 0)));
}

}  // namespace

FitOptions completed(const FitOptions& options, int width, int height) {
  FitOptions o = options;
  if (o.log2_table > 0) return o;
  const int64_t pixels = int64_t(width) * height, networks = mlp_shape(o, 0).weights();
  for (o.log2_table = 8; o.log2_table < 24; ++o.log2_table) {
    FitOptions larger = o;
    ++larger.log2_table;
    if (table_parameters(larger, width, height) + networks > pixels / 4) break;
  }
  return o;
}

ImageFit::ImageFit(const Image& image, const FitOptions& options, const Plan& plan)
    : image_(image), options_(completed(options, image.width, image.height)), plan_(plan) {
  const MlpFwd::Shape mlp = mlp_shape(options_, 0);
  table_ = Array<float>(table_parameters(options_, image.width, image.height));
  weights_ = Array<float>(mlp.weights());
  const Draws table(options_.seed, 0, 200);
  for (int64_t i = 0; i < table_.size(); ++i) table_[i] = 2e-4F * (table.unit(uint64_t(i)) - 0.5F);
  xavier_uniform(mlp, options_.seed, 201, weights_.data());
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

void ImageFit::evaluate(Ops& ops, int64_t n) {
  ops.call<HashgridFwd>(
      hash_shape(options_, image_.width, image_.height, n),
      {.positions = positions_.data(), .table = table_.data(), .features = features_.data()});
  ops.call<MlpFwd>(mlp_shape(options_, n),
                   {.x = features_.data(), .weights = weights_.data(), .y = rgb_.data()});
}

void ImageFit::loss_and_gradient(Ops& ops) {
  const int64_t n = options_.batch;
  evaluate(ops, n);
  const PixelLossFwd::Shape compared = {.n = n, .kind = 0};
  {
    const auto stage = ops.within("loss");
    ops.call<PixelLossFwd>(compared,
                           {.prediction = rgb_.data(), .target = target_.data(), .loss = loss_.data()});
    ops.call<PixelLossBwd>(compared, {.prediction = rgb_.data(),
                                      .target = target_.data(),
                                      .d_loss = d_loss_.data(),
                                      .d_prediction = d_rgb_.data()});
  }
  ops.call<MlpBwd>(mlp_shape(options_, n), {.x = features_.data(),
                                            .weights = weights_.data(),
                                            .d_y = d_rgb_.data(),
                                            .d_x = d_features_.data(),
                                            .d_weights = weights_state_.gradient.data()});
  ops.call<HashgridBwd>(hash_shape(options_, image_.width, image_.height, n),
                        {.positions = positions_.data(),
                         .d_features = d_features_.data(),
                         .d_table = table_state_.gradient.data()});
}

void ImageFit::update(Ops& ops, double learning_rate) {
  AdamSettings adam;
  adam.learning_rate = learning_rate;
  const double corners = 4 * double(options_.levels * options_.batch);
  adam_step(ops, adam, options_.features, table_, table_state_,
            untouched_percent(table_.size(), options_.features, corners));
  adam_step(ops, adam, weights_.size(), weights_, weights_state_);
}

std::vector<PlannedCall> fit_calls(const FitOptions& o, int width, int height) {
  const Image size{.width = width, .height = height, .rgba = {}};
  const Plan none;
  ImageFit fit(size, o, none);
  MeasureOps measured(fit.memory_);
  fit.loss_and_gradient(measured);
  fit.update(measured, o.learning_rate);
  return measured.deciding();
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
  std::fill_n(d_loss_.data(), n, 1.0F / float(n));
  ops_.run("loss and gradient", plan_, profile_, [&](Ops& ops) { loss_and_gradient(ops); });
  const double loss = std::accumulate(loss_.begin(), loss_.end(), 0.0);
  if (!std::isfinite(loss)) throw std::runtime_error(fmt::format("step {}: the loss is not finite", step_));
  const double rate = options_.learning_rate *
                      (options_.final_rate + (1 - options_.final_rate) * 0.5 *
                                                 (1 + std::cos(M_PI * std::clamp(progress, 0.0, 1.0))));
  ops_.run("update", plan_, profile_, [&](Ops& ops) { update(ops, rate); });
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
    ops_.run("picture", plan_, profile_, [&](Ops& ops) { evaluate(ops, n); });
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
