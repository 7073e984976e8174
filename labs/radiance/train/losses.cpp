#include "labs/radiance/train/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/program/random.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"
#include "reference/distortion_bwd/distortion_bwd.h"
#include "reference/distortion_fwd/distortion_fwd.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/mlp_bwd/mlp_bwd.h"
#include "reference/opacity_entropy_bwd/opacity_entropy_bwd.h"
#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"

namespace klab {
namespace {

int64_t loss_kind(const Config& c) { return c.loss == "mse" ? 0 : c.loss == "huber" ? 1 : 2; }

/// Opacities and depths have no gradient in the op that brings loss and gradients at once.
bool can_be_fused(const Config& c) { return !(c.opacity_entropy > 0) && !(c.depth > 0); }

double sum_of(const float* p, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += p[i];
  return sum;
}

}  // namespace

std::vector<PlannedCall> loss_calls(const Config& c, int cascades, int64_t rays, int64_t samples) {
  const std::string pixels = fmt::format("{} rays", rays), all = fmt::format("{} of {} rays", samples, rays);
  const PixelLossFwd::Shape pixel_loss = {.n = rays, .kind = loss_kind(c)};
  std::vector<PlannedCall> calls = {planned<PixelLossFwd>(pixel_loss, pixels),
                                    planned<PixelLossBwd>(pixel_loss, pixels)};
  if (can_be_fused(c))
    calls.push_back(planned<CompositeLossBwd>({.rays = rays, .samples = samples, .kind = loss_kind(c)}, all));
  if (c.opacity_entropy > 0) {
    calls.push_back(planned<OpacityEntropyFwd>({.rays = rays}, pixels));
    calls.push_back(planned<OpacityEntropyBwd>({.rays = rays}, pixels));
  }
  if (c.distortion > 0) {
    calls.push_back(planned<DistortionFwd>({.rays = rays, .samples = samples}, all));
    calls.push_back(planned<DistortionBwd>({.rays = rays, .samples = samples}, all));
  }
  if (c.total_variation > 0) {
    const int64_t n = 4 * kVariationPoints;
    const std::string points = fmt::format("{} points", n);
    calls.push_back(planned<HashgridFwd>(hash_shape(c, cascades, n), points));
    calls.push_back(planned<MlpFwd>(density_shape(c, n), points));
    calls.push_back(planned<MlpBwd>(density_shape(c, n), points));
    calls.push_back(planned<HashgridBwd>(hash_shape(c, cascades, n), points));
  }
  return calls;
}

Losses::Losses(const Config& config, const Plan& plan, int64_t rays, int64_t samples)
    : config_(config),
      plan_(plan),
      d_color_(3 * rays),
      d_opacity_(rays),
      d_depth_(rays),
      value_(rays),
      d_value_(rays) {
  if (config.distortion > 0) {
    weights_ = Array<float>(samples);
    transmittance_ = Array<float>(samples);
    d_weights_ = Array<float>(samples);
  }
}

int64_t Losses::bytes_of(const Config& c, int64_t rays, int64_t samples) {
  return 28 * rays + (c.distortion > 0 ? 12 * samples : 0);
}

double Losses::evaluate(const RayBatch& batch, const Truth& truth, const float* density_raw) {
  double loss = pixels(batch, truth);
  std::fill_n(d_opacity_.data(), batch.rays, 0.0F);
  std::fill_n(d_depth_.data(), batch.rays, 0.0F);
  if (config_.opacity_entropy > 0) loss += entropy(batch);
  if (config_.depth > 0) loss += depth(batch, truth);
  if (config_.distortion > 0) loss += distortion(batch, density_raw);
  return loss;
}

bool Losses::fused() const { return plan_.contains("composite_loss_bwd") && can_be_fused(config_); }

double Losses::evaluate_fused(const RayBatch& b, const Truth& truth, const float* raw, const float* rgb,
                              float* d_raw, float* d_rgb, Profile& profile) {
  std::fill_n(d_value_.data(), b.rays, 1.0F / float(b.rays));
  profile.run<CompositeLossBwd>("composite_loss_bwd", plan_,
                                {.shape = {.rays = b.rays, .samples = b.samples, .kind = loss_kind(config_)},
                                 .ray_begin = b.ray_begin.data(),
                                 .density_raw = raw,
                                 .rgb = rgb,
                                 .delta = b.delta.data(),
                                 .background = b.background.data(),
                                 .target = truth.color.data(),
                                 .d_loss = d_value_.data(),
                                 .loss = value_.data(),
                                 .d_density_raw = d_raw,
                                 .d_rgb = d_rgb});
  double loss = sum_of(value_.data(), b.rays) / double(b.rays);
  if (config_.distortion > 0) profile.time("loss", [&] { loss += distortion(b, raw); });
  return loss;
}

double Losses::pixels(const RayBatch& b, const Truth& truth) {
  const PixelLossFwd::Shape shape = {.n = b.rays, .kind = loss_kind(config_)};
  std::fill_n(d_value_.data(), b.rays, 1.0F / float(b.rays));
  plan_.run<PixelLossFwd>(
      {.shape = shape, .prediction = b.color.data(), .target = truth.color.data(), .loss = value_.data()});
  plan_.run<PixelLossBwd>({.shape = shape,
                           .prediction = b.color.data(),
                           .target = truth.color.data(),
                           .d_loss = d_value_.data(),
                           .d_prediction = d_color_.data()});
  return sum_of(value_.data(), b.rays) / double(b.rays);
}

double Losses::entropy(const RayBatch& b) {
  const OpacityEntropyFwd::Shape shape = {.rays = b.rays};
  std::fill_n(d_value_.data(), b.rays, float(config_.opacity_entropy / double(b.rays)));
  plan_.run<OpacityEntropyFwd>({.shape = shape, .opacity = b.opacity.data(), .loss = value_.data()});
  plan_.run<OpacityEntropyBwd>({.shape = shape,
                                .opacity = b.opacity.data(),
                                .d_loss = d_value_.data(),
                                .d_opacity = d_opacity_.data()});
  return config_.opacity_entropy * sum_of(value_.data(), b.rays) / double(b.rays);
}

double Losses::depth(const RayBatch& b, const Truth& truth) {
  double sum = 0;
  const double weight = config_.depth / double(b.rays);
  for (int64_t r = 0; r < b.rays; ++r) {
    if (!(truth.depth[r] > 0)) continue;
    const double error = double(b.depth[r]) - double(truth.depth[r]);
    sum += weight * error * error / 2;
    d_depth_[r] = float(weight * error);
  }
  return sum;
}

double Losses::distortion(const RayBatch& b, const float* raw) {
#pragma omp parallel for schedule(static, 64)
  for (int64_t r = 0; r < b.rays; ++r) {
    double depth = 0, before = 1;
    for (int64_t i = b.ray_begin[r]; i < b.ray_begin[r + 1]; ++i) {
      depth += std::exp(double(raw[i])) * double(b.delta[i]);
      const double after = std::exp(-depth);
      weights_[i] = float(before - after);
      transmittance_[i] = float(after);
      before = after;
    }
  }
  const DistortionFwd::Shape shape = {.rays = b.rays, .samples = b.samples};
  std::fill_n(d_value_.data(), b.rays, float(config_.distortion / double(b.rays)));
  plan_.run<DistortionFwd>({.shape = shape,
                            .ray_begin = b.ray_begin.data(),
                            .weights = weights_.data(),
                            .delta = b.delta.data(),
                            .t = b.t.data(),
                            .loss = value_.data()});
  plan_.run<DistortionBwd>({.shape = shape,
                            .ray_begin = b.ray_begin.data(),
                            .weights = weights_.data(),
                            .delta = b.delta.data(),
                            .t = b.t.data(),
                            .d_loss = d_value_.data(),
                            .d_weights = d_weights_.data()});
  return config_.distortion * sum_of(value_.data(), b.rays) / double(b.rays);
}

void Losses::add_distortion_gradient(const RayBatch& b, const float* raw, float* d_raw) {
  if (!(config_.distortion > 0)) return;
    // As in composite_bwd: dw_i/dtau_i = T behind i, dw_j/dtau_i = -w_j for the samples j behind.
#pragma omp parallel for schedule(static, 64)
  for (int64_t r = 0; r < b.rays; ++r) {
    double behind = 0;
    for (int64_t i = b.ray_begin[r + 1]; i-- > b.ray_begin[r];) {
      const double slope = std::exp(std::clamp(double(raw[i]), -15.0, 15.0)) * double(b.delta[i]);
      d_raw[i] += float(slope * (double(transmittance_[i]) * double(d_weights_[i]) - behind));
      behind += double(weights_[i]) * double(d_weights_[i]);
    }
  }
}

double total_variation(const Model& model, const Plan& plan, Field& field, uint64_t seed, int64_t step,
                       std::array<OptimizerState, 3>& gradients) {
  constexpr uint64_t kPurpose = 13;
  const Config& c = model.config;
  const int64_t points = std::min(kVariationPoints, field.capacity() / 4), n = 4 * points;
  const Draws draws(seed, uint64_t(step), kPurpose);
  const float h = 1.0F / (float(c.grid) * model.placement.side());
  // Rows of [3,n]: the points, then the points moved along x, y, z.
  std::vector<float> positions(size_t(3 * n));
  for (int64_t axis = 0; axis < 3; ++axis)
    for (int64_t moved = 0; moved < 4; ++moved)
      for (int64_t p = 0; p < points; ++p)
        positions[size_t(axis * n + moved * points + p)] =
            (1 - h) * draws.unit(uint64_t(3 * p + axis)) + (moved == axis + 1 ? h : 0);
  field.density(model.of(Part::table).data(), model.of(Part::density).data(), positions.data(), n);
  const float* raw = field.geometry(n);
  std::vector<float> d_geometry(size_t(c.geometry_features * n), 0.0F),
      d_features(size_t(model.encoded() * n));
  double sum = 0;
  const double weight = c.total_variation / double(points);
  for (int64_t moved = 1; moved < 4; ++moved) {
    for (int64_t p = 0; p < points; ++p) {
      const double difference = double(raw[moved * points + p]) - double(raw[p]);
      sum += weight * difference * difference;
      d_geometry[size_t(moved * points + p)] += float(2 * weight * difference);
      d_geometry[size_t(p)] -= float(2 * weight * difference);
    }
  }
  plan.run<MlpBwd>({.shape = model.density_shape(n),
                    .x = field.features(),
                    .weights = model.of(Part::density).data(),
                    .d_y = d_geometry.data(),
                    .d_x = d_features.data(),
                    .d_weights = gradients[size_t(Part::density)].gradient.data()});
  plan.run<HashgridBwd>({.shape = model.hash_shape(n),
                         .positions = positions.data(),
                         .d_features = d_features.data(),
                         .d_table = gradients[size_t(Part::table)].gradient.data()});
  return sum;
}

}  // namespace klab
