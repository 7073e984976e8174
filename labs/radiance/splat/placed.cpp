#include "labs/radiance/splat/placed.h"

#include <cmath>
#include <vector>

#include "reference/gs_color_fwd/basis.h"

namespace klab {
namespace {

using Rotation = std::array<float, 9>;
using Vector = std::array<double, 3>;

Rotation transposed(const Rotation& r) { return {r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]}; }

/// Converts a rotation to a quaternion, w first. (Shepperd, "Quaternion from rotation matrix", 1978: from the
/// largest of the four.)
std::array<double, 4> quaternion_of(const Rotation& r) {
  const double trace = double(r[0]) + r[4] + r[8];
  std::array<double, 4> q{};
  size_t largest = 0;
  for (size_t k = 0; k < 4; ++k) {
    const double square = k == 0 ? 1 + trace : 1 - trace + 2 * double(r[4 * (k - 1)]);
    q[k] = square;
    if (square > q[largest]) largest = k;
  }
  const double twice = std::sqrt(q[largest]);  // twice the largest component
  const double wx = double(r[7]) - r[5], wy = double(r[2]) - r[6], wz = double(r[3]) - r[1];
  const double xy = double(r[1]) + r[3], xz = double(r[2]) + r[6], yz = double(r[5]) + r[7];
  const double products[4][4] = {
      {q[0], wx, wy, wz}, {wx, q[1], xy, xz}, {wy, xy, q[2], yz}, {wz, xz, yz, q[3]}};
  for (size_t k = 0; k < 4; ++k) q[k] = products[largest][k] / (2 * twice);
  return q;
}

void turn_places(GaussianSet& set, const Rotation& r) {
  const auto n = size_t(set.n);
  for (size_t i = 0; i < n; ++i) {
    float* p = set.position.data() + i;
    const float x = p[0], y = p[n], z = p[2 * n];
    for (size_t k = 0; k < 3; ++k) p[k * n] = r[3 * k] * x + r[3 * k + 1] * y + r[3 * k + 2] * z;
  }
}

/// Applies the rotation after each Gaussian's own: a product of quaternions.
void turn_rotations(GaussianSet& set, const Rotation& r) {
  const auto n = size_t(set.n);
  const auto [a, b, c, d] = quaternion_of(r);
  for (size_t i = 0; i < n; ++i) {
    float* q = set.quaternion.data() + i;
    const double w = q[0], x = q[n], y = q[2 * n], z = q[3 * n];
    q[0] = float(a * w - b * x - c * y - d * z);
    q[n] = float(a * x + b * w + c * z - d * y);
    q[2 * n] = float(a * y - b * z + c * w + d * x);
    q[3 * n] = float(a * z + b * y - c * x + d * w);
  }
}

/// Evaluates the spherical harmonics of one degree for a direction.
std::vector<double> harmonics(int degree, const Vector& v) {
  std::vector<double> values(size_t(2 * degree + 1));
  for (const HarmonicTerm& t : harmonic_terms()) {
    const int at = t.output - degree * degree;
    if (at < 0 || at >= 2 * degree + 1) continue;
    values[size_t(at)] += t.factor * std::pow(v[0], t.px) * std::pow(v[1], t.py) * std::pow(v[2], t.pz);
  }
  return values;
}

/// Solves A·X = B for small square matrices, row by row, by elimination; A is far from singular.
void solve(std::vector<std::vector<double>>& A, std::vector<std::vector<double>>& B) {
  const size_t n = A.size();
  for (size_t k = 0; k < n; ++k)
    for (size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = A[i][k] / A[k][k];
      for (size_t j = 0; j < n; ++j) A[i][j] -= factor * A[k][j], B[i][j] -= factor * B[k][j];
    }
  for (size_t i = 0; i < n; ++i)
    for (double& b : B[i]) b /= A[i][i];
}

/// Returns M with f(rᵀv) = sum_j (M·c)_j Y_j(v) for f = sum_k c_k Y_k of one degree: a rotation mixes only
/// functions of the same degree. Solves by least squares over directions spread evenly, where the fit is
/// exact.
std::vector<std::vector<double>> turn_of_harmonics(int degree, const Rotation& r) {
  constexpr int kDirections = 64;
  const size_t n = size_t(2 * degree + 1);
  std::vector<std::vector<double>> A(n, std::vector<double>(n)), B = A;
  for (int i = 0; i < kDirections; ++i) {
    const double z = 1 - (2 * i + 1.0) / kDirections, ring = std::sqrt(1 - z * z),
                 angle = 2.399963229728653 * i;
    const Vector v = {ring * std::cos(angle), ring * std::sin(angle), z};
    Vector back{};
    for (size_t k = 0; k < 3; ++k) back[k] = r[k] * v[0] + r[3 + k] * v[1] + r[6 + k] * v[2];
    const std::vector<double> here = harmonics(degree, v), there = harmonics(degree, back);
    for (size_t j = 0; j < n; ++j)
      for (size_t k = 0; k < n; ++k) A[j][k] += here[j] * here[k], B[j][k] += here[j] * there[k];
  }
  solve(A, B);
  return B;
}

void turn_colors(GaussianSet& set, const Rotation& r) {
  const auto n = size_t(set.n);
  for (int degree = 1; degree <= set.degree; ++degree) {
    const auto M = turn_of_harmonics(degree, r);
    const size_t functions = M.size(), first = size_t(degree) * size_t(degree);
    std::vector<float> own(functions);
    for (size_t c = 0; c < 3; ++c)
      for (size_t i = 0; i < n; ++i) {
        const auto at = [&](size_t k) -> float& { return set.coefficients[(3 * (first + k) + c) * n + i]; };
        for (size_t k = 0; k < functions; ++k) own[k] = at(k);
        for (size_t j = 0; j < functions; ++j) {
          double sum = 0;
          for (size_t k = 0; k < functions; ++k) sum += M[j][k] * own[k];
          at(j) = float(sum);
        }
      }
  }
}

void turn(GaussianSet& set, const Rotation& r) {
  turn_places(set, r);
  turn_rotations(set, r);
  turn_colors(set, r);
}

}  // namespace

WorldPlace place_of(const Scene& scene) { return {scene.scale, scene.offset, scene.turn, scene.origin}; }

GaussianSet in_world(GaussianSet set, const WorldPlace& place) {
  const float offset[3] = {place.offset.x, place.offset.y, place.offset.z}, smaller = std::log(place.scale);
  const auto n = size_t(set.n);
  for (size_t i = 0; i < 3 * n; ++i) {
    set.position[i] = (set.position[i] - offset[i / n]) / place.scale;
    set.log_scale[i] -= smaller;
  }
  if (place.turns()) turn(set, transposed(place.turn));
  return set;
}

GaussianSet in_grid(GaussianSet set, const WorldPlace& place) {
  if (place.turns()) turn(set, place.turn);
  const float offset[3] = {place.offset.x, place.offset.y, place.offset.z}, larger = std::log(place.scale);
  const auto n = size_t(set.n);
  for (size_t i = 0; i < 3 * n; ++i) {
    set.position[i] = set.position[i] * place.scale + offset[i / n];
    set.log_scale[i] += larger;
  }
  return set;
}

}  // namespace klab
