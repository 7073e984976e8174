#include "labs/radiance/splat/exposure.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace klab {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-15;  // of Adam, as for Gaussians

}  // namespace

Exposures::Exposures(size_t views, double rate)
    : rate_(rate), logarithm_(3 * views), m_(3 * views), v_(3 * views), steps_(views) {}

std::array<float, 3> Exposures::factors(size_t view) const {
  std::array<float, 3> out{};
  for (size_t c = 0; c < 3; ++c) out[c] = std::exp(logarithm_[3 * view + c]);
  return out;
}

void Exposures::expose(size_t view, const std::vector<float>& image, std::vector<float>& exposed) const {
  const std::array<float, 3> factor = factors(view);
  const size_t pixels = image.size() / 3;
  exposed.resize(image.size());
  for (size_t c = 0; c < 3; ++c)
    for (size_t i = c * pixels; i < (c + 1) * pixels; ++i) exposed[i] = factor[c] * image[i];
}

std::array<double, 3> Exposures::backward(size_t view, const std::vector<float>& exposed,
                                          std::vector<float>& gradient) const {
  const std::array<float, 3> factor = factors(view);
  const size_t pixels = exposed.size() / 3;
  std::array<double, 3> out{};
  for (size_t c = 0; c < 3; ++c)
    for (size_t i = c * pixels; i < (c + 1) * pixels; ++i) {
      out[c] += double(gradient[i]) * double(exposed[i]);
      gradient[i] *= factor[c];
    }
  return out;
}

void Exposures::update(size_t view, const std::array<double, 3>& gradient, double factor) {
  const auto views = double(steps_.size());
  const int step = ++steps_[view];
  for (size_t c = 0; c < 3; ++c) {
    float &m = m_[3 * view + c], &v = v_[3 * view + c];
    m = float(kBeta1 * double(m) + (1 - kBeta1) * gradient[c]);
    v = float(kBeta2 * double(v) + (1 - kBeta2) * gradient[c] * gradient[c]);
    const double mean = double(m) / (1 - std::pow(kBeta1, step)),
                 square = double(v) / (1 - std::pow(kBeta2, step));
    logarithm_[3 * view + c] -= float(factor * rate_ * mean / (std::sqrt(square) + kEpsilon));
    double sum = 0;
    for (size_t i = c; i < logarithm_.size(); i += 3) sum += double(logarithm_[i]);
    for (size_t i = c; i < logarithm_.size(); i += 3) logarithm_[i] -= float(sum / views);
  }
}

std::vector<TensorView> Exposures::state() const {
  const auto views = int64_t(steps_.size());
  return {{"exposure.logarithm", "F32", {views, 3}, logarithm_.data()},
          {"exposure.m", "F32", {views, 3}, m_.data()},
          {"exposure.v", "F32", {views, 3}, v_.data()},
          {"exposure.steps", "I32", {views}, steps_.data()}};
}

void Exposures::restore(const TensorFile& file, const std::string& where) {
  for (const TensorView& t : state()) file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
  const auto finite = [](const std::vector<float>& list) {
    return std::ranges::all_of(list, [](float x) { return std::isfinite(x); });
  };
  if (!finite(logarithm_) || !finite(m_) || !finite(v_) ||
      std::ranges::any_of(v_, [](float v) { return v < 0; }) ||
      std::ranges::any_of(steps_, [](int32_t s) { return s < 0; }))
    throw std::runtime_error(where + ": \"exposure\" is damaged: numbers that no training has");
}

}  // namespace klab
