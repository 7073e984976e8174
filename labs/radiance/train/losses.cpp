#include "labs/radiance/train/losses.h"

#include <algorithm>
#include <cmath>

#include "labs/radiance/field/random.h"

namespace klab {
namespace {

int64_t loss_kind(const Config& c) { return c.loss == "mse" ? 0 : c.loss == "huber" ? 1 : 2; }

double sum_of(const float* p, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += p[i];
  return sum;
}

}  // namespace

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

bool Losses::fused() const {
  return plan_.contains("composite_loss_bwd") && !(config_.opacity_entropy > 0) && !(config_.depth > 0);
}

double Losses::evaluate_fused(const RayBatch& b, const Truth& truth, const float* raw, const float* rgb,
                              float* d_raw, float* d_rgb, Profile& profile) {
  const std::array<int64_t, 3> shape = {b.rays, b.samples, loss_kind(config_)};
  std::fill_n(d_value_.data(), b.rays, 1.0F / float(b.rays));
  profile.run("composite_loss_bwd", plan_, "composite_loss_bwd", shape,
              {b.ray_begin.data(), raw, rgb, b.delta.data(), b.background.data(), truth.color.data(),
               d_value_.data(), value_.data(), d_raw, d_rgb});
  double loss = sum_of(value_.data(), b.rays) / double(b.rays);
  if (config_.distortion > 0) profile.time("loss", [&] { loss += distortion(b, raw); });
  return loss;
}

double Losses::pixels(const RayBatch& b, const Truth& truth) {
  const std::array<int64_t, 2> shape = {b.rays, loss_kind(config_)};
  std::fill_n(d_value_.data(), b.rays, 1.0F / float(b.rays));
  plan_.run("pixel_loss_fwd", shape, {b.color.data(), truth.color.data(), value_.data()});
  plan_.run("pixel_loss_bwd", shape, {b.color.data(), truth.color.data(), d_value_.data(), d_color_.data()});
  return sum_of(value_.data(), b.rays) / double(b.rays);
}

double Losses::entropy(const RayBatch& b) {
  const std::array<int64_t, 1> shape = {b.rays};
  std::fill_n(d_value_.data(), b.rays, float(config_.opacity_entropy / double(b.rays)));
  plan_.run("opacity_entropy_fwd", shape, {b.opacity.data(), value_.data()});
  plan_.run("opacity_entropy_bwd", shape, {b.opacity.data(), d_value_.data(), d_opacity_.data()});
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
  const std::array<int64_t, 2> shape = {b.rays, b.samples};
  std::fill_n(d_value_.data(), b.rays, float(config_.distortion / double(b.rays)));
  plan_.run("distortion_fwd", shape,
            {b.ray_begin.data(), weights_.data(), b.delta.data(), b.t.data(), value_.data()});
  plan_.run(
      "distortion_bwd", shape,
      {b.ray_begin.data(), weights_.data(), b.delta.data(), b.t.data(), d_value_.data(), d_weights_.data()});
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
  plan.run("mlp_bwd", model.density_shape(n),
           {field.features(), model.of(Part::density).data(), d_geometry.data(), d_features.data(),
            gradients[size_t(Part::density)].gradient.data()});
  plan.run("hashgrid_bwd", model.hash_shape(n),
           {positions.data(), d_features.data(), gradients[size_t(Part::table)].gradient.data()});
  return sum;
}

}  // namespace klab
