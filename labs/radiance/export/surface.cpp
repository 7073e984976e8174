#include "labs/radiance/export/surface.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/program/random.h"
#include "labs/radiance/export/marching_cubes.h"
#include "labs/radiance/scene/image.h"

namespace klab {
namespace {

constexpr uint64_t kPointsOnMesh = 310;  // purpose of random draws
constexpr int64_t kColorsAtOnce = 1 << 16;

std::array<uint8_t, 3> color_bytes(Vec3 c) { return {to_byte(c.x), to_byte(c.y), to_byte(c.z)}; }

}  // namespace

std::array<int, 3> surface_points(const SurfaceOptions& o) {
  const Vec3 size = o.high - o.low;
  const float edges[3] = {size.x, size.y, size.z}, longest = std::max({size.x, size.y, size.z});
  std::array<int, 3> points{};
  for (size_t k = 0; k < 3; ++k)
    points[k] = 1 + std::max(1, int(std::ceil(float(o.resolution) * edges[k] / longest - 1e-4F)));
  return points;
}

int64_t surface_bytes(const SurfaceOptions& o) {
  const auto [x, y, z] = surface_points(o);
  return 4 * int64_t(x) * y * z;
}

Mesh field_surface(FieldPoints& field, const SurfaceOptions& o) {
  SampledBox box{.points = surface_points(o), .low = o.low, .high = o.high, .values = {}};
  const auto [nx, ny, nz] = box.points;
  const int64_t plane = int64_t(nx) * ny;
  std::vector<float> values(size_t(plane) * size_t(nz));
  std::vector<Vec3> points(static_cast<size_t>(plane));
  for (int z = 0; z < nz; ++z) {
    for (int64_t i = 0; i < plane; ++i) points[size_t(i)] = box.at(int(i % nx), int(i / nx), z);
    field.density(points.data(), plane, values.data() + plane * z);
  }
  box.values = values;
  Mesh mesh = marching_cubes(box, float(std::log(o.level)));
  if (mesh.triangles.empty())
    throw std::runtime_error(fmt::format(
        "the density reaches {:g} nowhere in the box, its most is {:g}: give --level a lower number", o.level,
        std::exp(std::min(60.0F, *std::ranges::max_element(values)))));
  mesh.colors.resize(mesh.positions.size());
  std::vector<Vec3> directions, rgb;
  for (size_t first = 0; first < mesh.positions.size(); first += kColorsAtOnce) {
    const size_t n = std::min(size_t(kColorsAtOnce), mesh.positions.size() - first);
    directions.resize(n), rgb.resize(n);
    for (size_t i = 0; i < n; ++i) directions[i] = -1.0F * mesh.normals[first + i];
    field.color(mesh.positions.data() + first, directions.data(), int64_t(n), rgb.data());
    for (size_t i = 0; i < n; ++i) mesh.colors[first + i] = color_bytes(rgb[i]);
  }
  return mesh;
}

Mesh points_of_gaussians(const GaussianSet& set) {
  constexpr float kDegreeZero = 0.28209479F;  // the function of degree 0: sqrt(1/(4π))
  Mesh out;
  const auto n = size_t(set.n);
  for (size_t i = 0; i < n; ++i) {
    if (!(set.opacity_raw[i] >= 0)) continue;
    size_t shortest = 0;
    float color[3];
    for (size_t k = 0; k < 3; ++k) {
      if (set.log_scale[k * n + i] < set.log_scale[shortest * n + i]) shortest = k;
      color[k] = 0.5F + kDegreeZero * set.coefficients[k * n + i];
    }
    float q[4], squares = 0;
    for (size_t k = 0; k < 4; ++k) q[k] = set.quaternion[k * n + i], squares += q[k] * q[k];
    for (float& part : q) part /= std::sqrt(squares);
    const auto [w, x, y, z] = q;
    const Vec3 axes[3] = {{1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
                          {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
                          {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)}};
    const Vec3 at{set.position[i], set.position[n + i], set.position[2 * n + i]}, axis = axes[shortest];
    out.positions.push_back(at);
    out.normals.push_back(dot(axis, at - Vec3{0.5F, 0.5F, 0.5F}) < 0 ? -1.0F * axis : axis);
    out.colors.push_back(color_bytes({color[0], color[1], color[2]}));
  }
  return out;
}

double area_of(const Mesh& mesh) {
  double sum = 0;
  for (const auto& [a, b, c] : mesh.triangles)
    sum +=
        0.5 *
        double(length(cross(mesh.positions[b] - mesh.positions[a], mesh.positions[c] - mesh.positions[a])));
  return sum;
}

Mesh points_on(const Mesh& mesh, int64_t count, uint64_t seed) {
  const Draws draws(seed, 0, kPointsOnMesh);
  const double each = area_of(mesh) / double(count);
  Mesh out;
  double passed = 0;  // area of the triangles before
  int64_t made = 0;
  for (const auto& triangle : mesh.triangles) {
    const uint32_t a = triangle[0], b = triangle[1], c = triangle[2];
    passed +=
        0.5 *
        double(length(cross(mesh.positions[b] - mesh.positions[a], mesh.positions[c] - mesh.positions[a])));
    // One point in every piece of area, at a random place of its triangle.
    for (; made < count && (double(made) + 0.5) * each < passed; ++made) {
      float u = draws.unit(2 * uint64_t(made)), v = draws.unit(2 * uint64_t(made) + 1);
      if (u + v > 1) u = 1 - u, v = 1 - v;
      const auto mix = [&](const std::vector<Vec3>& of) {
        return of[a] + u * (of[b] - of[a]) + v * (of[c] - of[a]);
      };
      out.positions.push_back(mix(mesh.positions));
      const Vec3 normal = mix(mesh.normals);
      out.normals.push_back(length(normal) > 1e-6F ? normalized(normal) : mesh.normals[a]);
      std::array<uint8_t, 3> color{};
      for (size_t k = 0; k < 3; ++k)
        color[k] = to_byte(((1 - u - v) * float(mesh.colors[a][k]) + u * float(mesh.colors[b][k]) +
                            v * float(mesh.colors[c][k])) /
                           255);
      out.colors.push_back(color);
    }
  }
  return out;
}

void move_to_world(Mesh& mesh, const WorldPlace& place) {
  const auto& r = place.turn;  // undone by its transpose
  const auto back = [&](Vec3 v) {
    return Vec3{r[0] * v.x + r[3] * v.y + r[6] * v.z, r[1] * v.x + r[4] * v.y + r[7] * v.z,
                r[2] * v.x + r[5] * v.y + r[8] * v.z};
  };
  for (Vec3& p : mesh.positions) p = back((1 / place.scale) * (p - place.offset));
  for (Vec3& n : mesh.normals) n = back(n);
}

}  // namespace klab
