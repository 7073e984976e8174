#include "labs/radiance/splat/relocation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "harness/program/random.h"

namespace klab {
namespace {

constexpr double kGrowth = 1.05;  // of the number, at each change
constexpr int kMostCopies = 51;   // at a place, as in the paper's program
constexpr uint64_t kNoise = 310;  // purpose of random draws
constexpr double kTwoPi = 6.283185307179586;

double opacity_at(const GaussianSet& set, int64_t i) {
  return 1 / (1 + std::exp(-double(set.opacity_raw[size_t(i)])));
}

/// Returns the rows of R·diag(scale) of Gaussian i.
std::array<float, 9> axes_of(const GaussianSet& set, int64_t i) {
  const int64_t n = set.n;
  float q[4], length = 0;
  for (int64_t k = 0; k < 4; ++k) q[k] = set.quaternion[size_t(k * n + i)], length += q[k] * q[k];
  for (float& k : q) k /= std::sqrt(length);
  const auto [w, x, y, z] = q;
  std::array<float, 9> m = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                            2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                            2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  for (size_t k = 0; k < 9; ++k) m[k] *= std::exp(set.log_scale[k % 3 * size_t(n) + size_t(i)]);
  return m;
}

}  // namespace

// The opacity of N at the center is 1 - (1 - o)^N. The size follows from the integral of 1 - (1 - o·g)^N along a line, in which the
// powers of a bell of width s are bells of width s/√k.
SharedPlace shared_place(double opacity, int copies) {
  SharedPlace out{.opacity = 1 - std::pow(1 - opacity, 1.0 / copies)};
  double sum = 0;
  for (int i = 1; i <= copies; ++i) {
    double binomial = 1;  // i - 1 over k
    for (int k = 0; k < i; ++k) {
      sum += (k % 2 == 0 ? 1 : -1) * binomial * std::pow(out.opacity, k + 1) / std::sqrt(k + 1);
      binomial *= double(i - 1 - k) / double(k + 1);
    }
  }
  out.size = opacity / sum;
  return out;
}

DensityChange relocated(GaussianSet& set, const DensityOptions& options, uint64_t seed) {
  const int64_t n = set.n;
  std::vector<double> weight(static_cast<size_t>(n));  // 0: transparent
  for (int64_t i = 0; i < n; ++i) {
    const double o = opacity_at(set, i);
    weight[size_t(i)] = o > options.least_opacity ? o : 0;
  }
  DensityChange change;
  change.from.resize(size_t(n));
  change.fresh.assign(size_t(n), 0);
  std::iota(change.from.begin(), change.from.end(), int64_t{0});
  std::vector<int> copies(size_t(n), 1);
  if (std::accumulate(weight.begin(), weight.end(), 0.0) > 0) {
    std::mt19937_64 random(seed);
    std::discrete_distribution<int64_t> draw(weight.begin(), weight.end());
    const auto copy = [&] {
      const int64_t from = draw(random);
      ++copies[size_t(from)];
      ++change.cloned;
      return from;
    };
    for (int64_t i = 0; i < n; ++i) {
      if (weight[size_t(i)] > 0) continue;
      change.from[size_t(i)] = copy();
      ++change.removed;
    }
    const int64_t most = options.budget > 0 ? std::min(options.budget, options.most) : options.most;
    for (int64_t added = std::min(most, int64_t(std::ceil(kGrowth * double(n)))) - n; added > 0; --added)
      change.from.push_back(copy());
  }
  change.fresh.resize(change.from.size(), 0);
  change.set = gathered(set, change.from);
  GaussianSet& out = change.set;
  for (int64_t i = 0; i < out.n; ++i) {
    const int64_t from = change.from[size_t(i)];
    const int there = std::min(copies[size_t(from)], kMostCopies);
    if (there == 1) continue;
    const SharedPlace place = shared_place(weight[size_t(from)], there);
    const double opacity = std::clamp(place.opacity, options.least_opacity, 1 - 1e-6);
    change.fresh[size_t(i)] = 1;
    out.opacity_raw[size_t(i)] = float(std::log(opacity / (1 - opacity)));
    for (int64_t k = 0; k < 3; ++k) out.log_scale[size_t(k * out.n + i)] += float(std::log(place.size));
  }
  return change;
}

void add_noise(GaussianSet& set, const DensityOptions& options, double rate, double extent, uint64_t seed,
               int64_t step) {
  const Draws draws(seed, uint64_t(step), kNoise);
  const int64_t n = set.n;
  // The steepness and the threshold on 1 - opacity are the paper's.
  const double strength = options.noise * rate / (extent * extent);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; ++i) {
    const double hidden = 1 / (1 + std::exp(-100 * (1 - opacity_at(set, i) - 0.995)));
    const std::array<float, 9> a = axes_of(set, i);
    float normal[3], across[3] = {0, 0, 0};
    for (uint64_t k = 0; k < 3; ++k) {
      const auto at = 6 * uint64_t(i) + 2 * k;
      normal[k] = float(std::sqrt(-2 * std::log(1 - double(draws.unit(at)))) *
                        std::cos(kTwoPi * double(draws.unit(at + 1))));
    }
    // The covariance is A·Aᵀ.
    for (size_t k = 0; k < 3; ++k)
      for (size_t row = 0; row < 3; ++row) across[k] += a[3 * row + k] * normal[row];
    for (size_t row = 0; row < 3; ++row) {
      float moved = 0;
      for (size_t k = 0; k < 3; ++k) moved += a[3 * row + k] * across[k];
      set.position[row * size_t(n) + size_t(i)] += float(strength * hidden) * moved;
    }
  }
}

double pull_of(const GaussianSet& set, const DensityOptions& options, double extent, GaussianSet* gradient) {
  const int64_t n = set.n;
  const double of_opacity = options.opacity_pull / double(n),
               of_size = options.size_pull / (3 * extent * double(n));
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double o = opacity_at(set, i);
    sum += of_opacity * o;
    if (gradient != nullptr) gradient->opacity_raw[size_t(i)] += float(of_opacity * o * (1 - o));
  }
  for (size_t i = 0; i < size_t(3 * n); ++i) {
    const double size = std::exp(double(set.log_scale[i]));
    sum += of_size * size;
    if (gradient != nullptr) gradient->log_scale[i] += float(of_size * size);
  }
  return sum;
}

}  // namespace klab
