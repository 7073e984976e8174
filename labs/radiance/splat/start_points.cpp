#include "labs/radiance/splat/start_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

namespace klab {
namespace {

constexpr float kDegree0StartPoints = 0.28209479F;  // the function of degree 0: sqrt(1/(4π))
constexpr float kLeast = 1e-5F;                     // grid units
constexpr size_t kLeaf = 8;                         // points in a leaf, searched one by one

float coordinate(const Vec3& p, int axis) { return axis == 0 ? p.x : axis == 1 ? p.y : p.z; }

/// The three smallest squared distances.
struct Nearest {
  float squares[3] = {INFINITY, INFINITY, INFINITY};
  void add(float square) {
    for (float& s : squares)
      if (square < s) std::swap(square, s);
  }
  float mean() const {
    float sum = 0;
    int count = 0;
    for (const float s : squares)
      if (std::isfinite(s)) sum += std::sqrt(s), ++count;
    return count > 0 ? sum / float(count) : 0;
  }
};

/// A balanced k-d tree without nodes of its own: the middle of each stretch of `order_` divides it along one axis.
class Tree {
 public:
  explicit Tree(std::span<const Vec3> points) : points_(points), order_(points.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
    divide(0, order_.size(), 0);
  }
  Nearest nearest_to(size_t i) const {
    Nearest found;
    search(0, order_.size(), 0, i, found);
    return found;
  }

 private:
  void divide(size_t begin, size_t end, int axis) {
    if (end - begin <= kLeaf) return;
    const size_t middle = (begin + end) / 2;
    const auto at = [&](size_t k) { return order_.begin() + std::ptrdiff_t(k); };
    std::nth_element(at(begin), at(middle), at(end), [&](size_t a, size_t b) {
      return coordinate(points_[a], axis) < coordinate(points_[b], axis);
    });
    divide(begin, middle, (axis + 1) % 3);
    divide(middle + 1, end, (axis + 1) % 3);
  }
  void consider(size_t k, size_t i, Nearest& found) const {
    if (order_[k] == i) return;
    const Vec3 d = points_[order_[k]] - points_[i];
    found.add(dot(d, d));
  }
  void search(size_t begin, size_t end, int axis, size_t i, Nearest& found) const {
    if (end - begin <= kLeaf) {
      for (size_t k = begin; k < end; ++k) consider(k, i, found);
      return;
    }
    const size_t middle = (begin + end) / 2;
    const float off = coordinate(points_[i], axis) - coordinate(points_[order_[middle]], axis);
    const int next = (axis + 1) % 3;
    consider(middle, i, found);
    off < 0 ? search(begin, middle, next, i, found) : search(middle + 1, end, next, i, found);
    if (off * off > found.squares[2]) return;
    off < 0 ? search(middle + 1, end, next, i, found) : search(begin, middle, next, i, found);
  }

  std::span<const Vec3> points_;
  std::vector<size_t> order_;
};

/// Draws `most` of n indices without repetition and returns them in order.
std::vector<size_t> chosen_start_points(size_t n, size_t most, uint64_t seed) {
  std::vector<size_t> all(n), out;
  std::iota(all.begin(), all.end(), size_t{0});
  std::mt19937_64 random(seed);
  std::ranges::sample(all, std::back_inserter(out), std::ptrdiff_t(most), random);
  return out;
}

}  // namespace

std::vector<float> mean_distance_to_three(std::span<const Vec3> points) {
  const Tree tree(points);
  std::vector<float> out(points.size());
#pragma omp parallel for schedule(dynamic, 1024)
  for (size_t i = 0; i < points.size(); ++i) out[i] = tree.nearest_to(i).mean();
  return out;
}

GaussianSet gaussians_from_points(std::span<const ScenePoint> points, int64_t most, int degree,
                                  uint64_t seed) {
  if (points.empty() || most < 1) throw std::invalid_argument("there are no points to begin with");
  const std::vector<size_t> from =
      chosen_start_points(points.size(), std::min(points.size(), size_t(most)), seed);
  const auto n = from.size();
  std::vector<Vec3> places(n);
  for (size_t i = 0; i < n; ++i) places[i] = points[from[i]].position;
  const std::vector<float> size = mean_distance_to_three(places);
  GaussianSet set = GaussianSet::zeros(int64_t(n), degree);
  for (size_t i = 0; i < n; ++i) {
    for (int k = 0; k < 3; ++k) {
      const size_t at = size_t(k) * n + i;
      set.position[at] = coordinate(places[i], k);
      set.log_scale[at] = std::log(std::max(size[i], kLeast));
      set.coefficients[at] = (float(points[from[i]].rgb[size_t(k)]) / 255 - 0.5F) / kDegree0StartPoints;
    }
    set.quaternion[i] = 1;
    set.opacity_raw[i] = std::log(0.1F / 0.9F);
  }
  return set;
}

}  // namespace klab
