// Places a scene in the grid.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/records/numbers.h"
#include "labs/radiance/scene/frames.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using PlacePoint = std::array<double, 3>;

PlacePoint place_of(const Camera& c) { return {c.pose[3], c.pose[7], c.pose[11]}; }
PlacePoint axis_of(const Camera& c, size_t k) { return {c.pose[k], c.pose[4 + k], c.pose[8 + k]}; }
double dot(const PlacePoint& a, const PlacePoint& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
PlacePoint minus(const PlacePoint& a, const PlacePoint& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

std::vector<const Camera*> cameras_of(const Frames& frames) {
  std::vector<const Camera*> cameras;
  for (const auto* set : {&frames.train, &frames.test})
    for (const Frame& frame : *set) cameras.push_back(&frame.camera);
  return cameras;
}

/// Returns the shortest rotation of the cameras' mean up direction to +z; the identity if they have no common
/// direction.
std::array<float, 9> turn_of(const std::vector<const Camera*>& cameras) {
  PlacePoint up{};
  for (const Camera* c : cameras)
    for (size_t k = 0; k < 3; ++k) up[k] += axis_of(*c, 1)[k] / double(cameras.size());
  const double length = std::sqrt(dot(up, up));
  if (length < 0.1) return {1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (double& u : up) u /= length;
  const auto [x, y, z] = up;
  if (z < -0.999999) return {1, 0, 0, 0, -1, 0, 0, 0, -1};  // upside down: half a turn about x
  // Rodrigues's formula for the turn about up × z, by the angle between them.
  const double f = 1 / (1 + z);
  return {float(1 - f * x * x),
          float(-f * x * y),
          float(-x),
          float(-f * x * y),
          float(1 - f * y * y),
          float(-y),
          float(x),
          float(y),
          float(z)};
}

/// Finds the point nearest to all lines of sight: sum over cameras of (I - d·dᵀ)(c - p) = 0. Returns false if
/// the system is nearly singular, or the point lies behind most cameras.
bool nearest_to_lines(const std::vector<const Camera*>& cameras, PlacePoint& out) {
  double A[3][3] = {}, b[3] = {};
  for (const Camera* c : cameras) {
    const PlacePoint d = axis_of(*c, 2), p = place_of(*c);
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 3; ++j) {
        const double a = (i == j ? 1 : 0) - d[i] * d[j];
        A[i][j] += a;
        b[i] += a * p[j];
      }
  }
  const auto det = [](const double(&m)[3][3]) {
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  };
  const double all = det(A), mean = (A[0][0] + A[1][1] + A[2][2]) / 3;
  if (!(all > 1e-4 * mean * mean * mean)) return false;
  for (size_t k = 0; k < 3; ++k) {  // Cramer's rule
    double m[3][3];
    std::copy(&A[0][0], &A[0][0] + 9, &m[0][0]);
    for (size_t i = 0; i < 3; ++i) m[i][k] = b[i];
    out[k] = det(m) / all;
  }
  const auto behind = std::ranges::count_if(
      cameras, [&](const Camera* c) { return dot(minus(out, place_of(*c)), axis_of(*c, 2)) > 0; });
  return 2 * behind <= int64_t(cameras.size());
}

PlacePoint mean_place(const std::vector<const Camera*>& cameras) {
  PlacePoint mean{};
  for (const Camera* c : cameras)
    for (size_t k = 0; k < 3; ++k) mean[k] += place_of(*c)[k] / double(cameras.size());
  return mean;
}

Vec3 turned(const std::array<float, 9>& turn, Vec3 v) {
  const auto row = [&](size_t r) { return turn[r] * v.x + turn[r + 1] * v.y + turn[r + 2] * v.z; };
  return {row(0), row(3), row(6)};
}

/// Returns the number of cascades that hold 95 % of the points, which are in grid units around the center.
int cascades_for(std::vector<float> reach) {
  if (reach.empty()) return 3;
  const auto at = reach.begin() + std::ptrdiff_t(0.95 * double(reach.size() - 1));
  std::nth_element(reach.begin(), at, reach.end());
  int cascades = 1;
  while (cascades < 5 && *at > 0.5F * float(1 << (cascades - 1))) ++cascades;
  return cascades;
}

}  // namespace

void place_in_grid(const Scene& scene, const fs::path& file, const std::string& name, Camera& camera) {
  const Vec3 at = turned(scene.turn, camera.position());
  const std::pair<float, float> axes[] = {
      {at.x, scene.offset.x}, {at.y, scene.offset.y}, {at.z, scene.offset.z}};
  size_t row = 3;
  for (const auto& [before, offset] : axes) {
    const double c = double(before) * scene.scale + offset;
    if (!within(c, range::place))
      throw Refused(file, name,
                    fmt::format("{}: its camera lies {:.3g} sides of the unit cube away, which must be {}",
                                name, c, text_of(range::place)),
                    "check \"scale\", \"offset\" and its pose");
    camera.pose[row] = float(c);
    row += 4;
  }
  for (int k = 0; k < 3; ++k) {
    const Vec3 axis = turned(scene.turn, camera.axis(k));
    const auto column = size_t(k);
    camera.pose[column] = axis.x, camera.pose[4 + column] = axis.y, camera.pose[8 + column] = axis.z;
  }
}

void choose_place(Scene& scene, const Frames& frames) {
  const std::vector<const Camera*> cameras = cameras_of(frames);
  PlacePoint middle{};
  if (!nearest_to_lines(cameras, middle)) {
    middle = mean_place(cameras);
    scene.notes.emplace_back(
        "the cameras have no point that all look at: their own mean is the middle of the box");
  }
  double distance = 0;
  for (const Camera* c : cameras) {
    const PlacePoint d = minus(place_of(*c), middle);
    distance += std::sqrt(dot(d, d)) / double(cameras.size());
  }
  constexpr double kDistance = 4 * 0.33;
  scene.scale = float(std::clamp(kDistance / std::max(distance, 1e-9), range::scale.low, range::scale.high));
  scene.turn = turn_of(cameras);
  const Vec3 m = turned(scene.turn, {float(middle[0]), float(middle[1]), float(middle[2])});
  scene.offset = Vec3{0.5F, 0.5F, 0.5F} - scene.scale * m;
  std::vector<float> reach;
  for (const ScenePoint& point : scene.points) {
    const Vec3 d = scene.scale * (turned(scene.turn, point.position) - m);
    reach.push_back(std::max({std::abs(d.x), std::abs(d.y), std::abs(d.z)}));
  }
  scene.cascades = cascades_for(std::move(reach));
}

void place_in_grid(Scene& scene, Frames& frames, const fs::path& file) {
  for (auto* set : {&frames.train, &frames.test})
    for (Frame& frame : *set) place_in_grid(scene, file, frame.name, frame.camera);
  for (ScenePoint& point : scene.points)
    point.position = scene.scale * turned(scene.turn, point.position) + scene.offset;
}

}  // namespace klab
