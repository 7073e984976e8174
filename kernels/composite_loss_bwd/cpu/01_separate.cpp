// composite_loss_bwd.cpu.01_separate: four operations, one after the other.
//
// CHANGE    the naive way: colors of all rays, their losses, the gradients of the colors, and then
//           composite_bwd's two walks along each ray. Colors and their gradients pass through memory in
//           between.
// EXPECT    three walks over each ray and seven exponentials per sample: two for the color, two and three in
//           the walks of the backward. They are the limit.
// NUMERICS  one rounding a operation in sample order; transmittance is a running product.
// NEEDS     24 bytes per ray in between.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"

namespace klab {
namespace {

constexpr float kStop = float(CompositeLossFwd::stop);

float through(const CompositeLossBwd::Args<float>& x, int64_t i) {
  return std::exp(-std::exp(x.density_raw[i]) * x.delta[i]);
}

void composite(const CompositeLossBwd::Args<float>& x, float* color) {
  const int64_t rays = x.shape.rays, samples = x.shape.samples;
  for (int64_t r = 0; r < rays; ++r) {
    float transmittance = 1, sum[3] = {};
    for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1] && transmittance >= kStop; ++i) {
      const float passed = through(x, i), weight = transmittance * (1 - passed);
      for (int64_t c = 0; c < 3; ++c) sum[c] += weight * x.rgb[c * samples + i];
      transmittance *= passed;
    }
    for (int64_t c = 0; c < 3; ++c) color[c * rays + r] = sum[c] + transmittance * x.background[c * rays + r];
  }
}

void losses(const CompositeLossBwd::Args<float>& x, const float* color, float* d_color) {
  const auto [rays, samples, kind] = x.shape;
  const float turn = CompositeLossFwd::turn(kind);
  for (int64_t r = 0; r < rays; ++r) {
    float loss = 0;
    for (int64_t k = r; k < 3 * rays; k += rays) {
      const float e = color[k] - x.target[k], s = std::clamp(e, -turn, turn);
      loss += kind == 0 ? e * e : s * (e - 0.5F * s);
      d_color[k] = x.d_loss[r] / 3 * (kind == 0 ? 2 * e : s);
    }
    x.loss[r] = loss / 3;
  }
}

void backward(const CompositeLossBwd::Args<float>& x, const float* d_color) {
  const int64_t rays = x.shape.rays, samples = x.shape.samples;
  for (int64_t r = 0; r < rays; ++r) {
    const int64_t begin = x.ray_begin[r], end = x.ray_begin[r + 1];
    const float g[3] = {d_color[r], d_color[rays + r], d_color[2 * rays + r]};
    const auto payload = [&, s = samples](int64_t i) {
      return g[0] * x.rgb[i] + g[1] * x.rgb[s + i] + g[2] * x.rgb[2 * s + i];
    };
    // First walk: the contributions of all samples and the background to the loss.
    float transmittance = 1, suffix = 0;
    int64_t last = begin;
    for (; last < end && transmittance >= kStop; ++last) {
      const float passed = through(x, last);
      suffix += transmittance * (1 - passed) * payload(last);
      transmittance *= passed;
    }
    for (int64_t c = 0; c < 3; ++c) suffix += transmittance * g[c] * x.background[c * rays + r];
    // Second walk: the part of that sum behind each sample.
    transmittance = 1;
    for (int64_t i = begin; i < last; ++i) {
      const float passed = through(x, i), weight = transmittance * (1 - passed), p = payload(i);
      transmittance *= passed;
      suffix -= weight * p;
      const float slope = std::exp(std::clamp(x.density_raw[i], -15.0F, 15.0F)) * x.delta[i];
      x.d_density_raw[i] = slope * (transmittance * p - suffix);
      for (int64_t c = 0; c < 3; ++c) x.d_rgb[c * samples + i] = weight * g[c];
    }
    for (int64_t i = last; i < end; ++i) {
      x.d_density_raw[i] = 0;
      for (int64_t c = 0; c < 3; ++c) x.d_rgb[c * samples + i] = 0;
    }
  }
}

void run(const CompositeLossBwd::Args<float>& x) {
  std::vector<float> color(size_t(3 * x.shape.rays)), d_color(color.size());
  composite(x, color.data());
  losses(x, color.data(), d_color.data());
  backward(x, d_color.data());
}

KLAB_VARIANT(CompositeLossBwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
