#include "labs/radiance/splat/density.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "labs/radiance/splat/relocation.h"

namespace klab {
namespace {

constexpr float kSmaller = 1.6F;  // divides the scale of a Gaussian that is split

float largest_scale(const GaussianSet& set, int64_t i) {
  return std::exp(std::max(
      {set.log_scale[size_t(i)], set.log_scale[size_t(set.n + i)], set.log_scale[size_t(2 * set.n + i)]}));
}

float opacity_of(const GaussianSet& set, int64_t i) {
  return 1 / (1 + std::exp(-set.opacity_raw[size_t(i)]));
}

/// Moves Gaussian i of `set` to a point drawn from itself.
void draw_from_itself(GaussianSet& set, int64_t i, std::mt19937_64& random) {
  const int64_t n = set.n;
  float q[4], length = 0, along[3];
  for (int64_t k = 0; k < 4; ++k) q[k] = set.quaternion[size_t(k * n + i)], length += q[k] * q[k];
  for (float& k : q) k /= std::sqrt(length);
  const auto [w, x, y, z] = q;
  const float R[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                      2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                      2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  for (int64_t k = 0; k < 3; ++k)
    along[k] = std::normal_distribution<float>()(random) * std::exp(set.log_scale[size_t(k * n + i)]);
  for (int64_t k = 0; k < 3; ++k)
    set.position[size_t(k * n + i)] +=
        R[3 * k] * along[0] + R[3 * k + 1] * along[1] + R[3 * k + 2] * along[2];
}

/// Returns the Gaussians to clone or split, those with the largest gradients first.
std::vector<int64_t> chosen(const DensityStatistics& seen, const std::vector<uint8_t>& kept, int64_t room,
                            double threshold) {
  std::vector<int64_t> list;
  const auto mean = [&](int64_t i) {
    return seen.pull[size_t(i)] / float(std::max(seen.seen[size_t(i)], 1));
  };
  for (int64_t i = 0; i < int64_t(kept.size()); ++i)
    if (kept[size_t(i)] != 0 && seen.seen[size_t(i)] > 0 && double(mean(i)) > threshold) list.push_back(i);
  std::sort(list.begin(), list.end(), [&](int64_t a, int64_t b) {
    const float left = mean(a), right = mean(b);
    return left > right || (left == right && a < b);
  });
  if (int64_t(list.size()) > room) list.resize(size_t(std::max<int64_t>(room, 0)));
  return list;
}

}  // namespace

void DensityStatistics::reset(int64_t n) {
  pull.assign(size_t(n), 0.0F);
  seen.assign(size_t(n), 0);
}

void DensityStatistics::add(const std::vector<float>& pull_of_view, const std::vector<float>& extent,
                            int width, int height) {
  const size_t n = pull.size();
  for (size_t i = 0; i < n; ++i) {
    if (!(extent[i] > 0)) continue;
    const float x = pull_of_view[i] * 0.5F * float(width), y = pull_of_view[n + i] * 0.5F * float(height);
    pull[i] += std::sqrt(x * x + y * y);
    ++seen[i];
  }
}

DensityChange change_density(GaussianSet& set, const DensityStatistics& seen, const DensityOptions& options,
                             double extent, double done, bool remove_large, uint64_t seed) {
  if (options.relocate) return relocated(set, options, seed);
  DensityChange change;
  std::vector<uint8_t> kept(size_t(set.n), 1);
  for (int64_t i = 0; i < set.n; ++i)
    if (double(opacity_of(set, i)) < options.least_opacity ||
        (remove_large && double(largest_scale(set, i)) > options.large * extent))
      kept[size_t(i)] = 0;
  int64_t left = std::accumulate(kept.begin(), kept.end(), int64_t{0});
  if (left == 0 && set.n > 0) kept[0] = 1, left = 1;
  change.removed = set.n - left;
  // With a budget the number grows linearly with elapsed time.
  const int64_t aim =
      options.budget > 0 ? int64_t(double(options.budget) * std::min(1.0, 0.1 + 0.9 * done)) : options.most;
  const int64_t room = std::min(aim, options.most) - left;
  std::vector<uint8_t> divided(size_t(set.n), 0), doubled(size_t(set.n), 0);
  for (const int64_t i : chosen(seen, kept, room, options.budget > 0 ? 0 : options.threshold)) {
    const bool is_large = double(largest_scale(set, i)) > options.small * extent;
    (is_large ? divided : doubled)[size_t(i)] = 1;
    ++(is_large ? change.split : change.cloned);
  }
  for (int64_t i = 0; i < set.n; ++i) {
    if (kept[size_t(i)] == 0) continue;
    change.from.push_back(i);
    change.fresh.push_back(divided[size_t(i)]);
  }
  for (int64_t i = 0; i < set.n; ++i)
    if (divided[size_t(i)] != 0 || doubled[size_t(i)] != 0) {
      change.from.push_back(i);
      change.fresh.push_back(1);
    }
  change.set = gathered(set, change.from);
  GaussianSet& out = change.set;
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < out.n; ++i) {
    if (divided[size_t(change.from[size_t(i)])] == 0) continue;
    draw_from_itself(out, i, random);
    for (int64_t k = 0; k < 3; ++k) out.log_scale[size_t(k * out.n + i)] -= std::log(kSmaller);
  }
  return change;
}

}  // namespace klab
