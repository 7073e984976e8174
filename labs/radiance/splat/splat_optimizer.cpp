#include "labs/radiance/splat/splat_optimizer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/program/counted_bytes.h"
#include "labs/radiance/field/optimizer.h"
#include "reference/adam/adam.h"

namespace klab {
namespace {

/// A view usually shows about half of the Gaussians; the others have no gradient.
constexpr int64_t kUnseenPercent = 50;

}  // namespace

SplatOptimizer::SplatOptimizer(const SplatOptions& options, double extent, GaussianSet& set)
    : options_(options), extent_(extent) {
  for (size_t k = 0; k < moments_.size(); ++k) {
    const size_t count = set.tensors()[k]->size();
    moments_[k] = {std::vector<float>(count), std::vector<float>(count), std::vector<int32_t>(count)};
  }
}

void SplatOptimizer::adam(Ops& ops, std::vector<float>& values, const std::vector<float>& gradient,
                          Moments& moments, size_t begin, size_t count, double rate) {
  float hyper[Adam::kHypers];
  hyper[Adam::rate] = float(rate);
  hyper[Adam::beta1] = 0.9F;
  hyper[Adam::beta2] = 0.999F;
  hyper[Adam::epsilon] = 1e-15F;
  hyper[Adam::l2] = 0;
  ops.call<Adam>({.n = int64_t(count), .group = 1, .zero_percent = kUnseenPercent},
                 {.hyper = hyper,
                  .gradient = gradient.data() + begin,
                  .param = values.data() + begin,
                  .m = moments.m.data() + begin,
                  .v = moments.v.data() + begin,
                  .steps = moments.steps.data() + begin});
}

void SplatOptimizer::update(Ops& ops, GaussianSet& set, GaussianSet& gradient, int degree, double done,
                            double factor) {
  const double falls = std::pow(options_.last_position_rate / options_.position_rate, std::min(done, 1.0));
  position_rate_ = factor * options_.position_rate * falls * extent_;
  const double rates[] = {position_rate_, factor * options_.scale_rate, factor * options_.rotation_rate,
                          factor * options_.opacity_rate};
  const double color_rate = factor * options_.color_rate;
  for (size_t k = 0; k < 4; ++k) {
    std::vector<float>& values = *set.tensors()[k];
    adam(ops, values, *gradient.tensors()[k], moments_[k], 0, values.size(), rates[k]);
  }
  // View-dependent coefficients learn more slowly than the constant ones.
  const auto flat = size_t(3 * set.n), drawn = flat * size_t(degree + 1) * size_t(degree + 1);
  adam(ops, set.coefficients, gradient.coefficients, moments_[4], 0, flat, color_rate);
  if (drawn > flat)
    adam(ops, set.coefficients, gradient.coefficients, moments_[4], flat, drawn - flat, color_rate / 20);
}

void SplatOptimizer::follow(const DensityChange& change, int64_t before) {
  const auto numbers = change.set.numbers();
  for (size_t k = 0; k < moments_.size(); ++k) {
    Moments next;
    const auto n = int64_t(change.from.size());
    next.m.resize(size_t(numbers[k] * n)), next.v.resize(next.m.size()), next.steps.resize(next.m.size());
    for (int64_t row = 0; row < numbers[k]; ++row)
      for (int64_t i = 0; i < n; ++i) {
        if (change.fresh[size_t(i)] != 0) continue;
        const auto to = size_t(row * n + i), from = size_t(row * before + change.from[size_t(i)]);
        next.m[to] = moments_[k].m[from], next.v[to] = moments_[k].v[from],
        next.steps[to] = moments_[k].steps[from];
      }
    moments_[k] = std::move(next);
  }
}

void SplatOptimizer::reset_opacity(GaussianSet& set) {
  const float most = std::log(0.01F / 0.99F);
  for (float& raw : set.opacity_raw) raw = std::min(raw, most);
  Moments& moments = moments_[3];
  std::fill(moments.m.begin(), moments.m.end(), 0.0F);
  std::fill(moments.v.begin(), moments.v.end(), 0.0F);
  std::fill(moments.steps.begin(), moments.steps.end(), 0);
}

int64_t SplatOptimizer::held_bytes() const {
  int64_t bytes = 0;
  for (const Moments& m : moments_) bytes += reserved_bytes(m.m, m.v, m.steps);
  return bytes;
}

std::vector<TensorView> SplatOptimizer::state() const {
  std::vector<TensorView> list;
  for (size_t k = 0; k < moments_.size(); ++k)
    for (const TensorView& t : moment_tensors(kSplatTensors[k], moments_[k])) list.push_back(t);
  return list;
}

void SplatOptimizer::restore(const TensorFile& file, const std::string& where) {
  for (size_t k = 0; k < moments_.size(); ++k) {
    const Moments& m = moments_[k];
    for (const TensorView& t : moment_tensors(kSplatTensors[k], m))
      file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
    if (std::ranges::any_of(m.v, [](float v) { return v < 0; }) ||
        std::ranges::any_of(m.steps, [](int32_t s) { return s < 0; }))
      throw std::runtime_error(where + ": optimizer." + kSplatTensors[k] +
                               " is damaged: counts or second moments that no training has");
  }
}

}  // namespace klab
