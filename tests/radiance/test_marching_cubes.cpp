// Surfaces of marching cubes: closed in every case that cells have, closed at the box, and where the function says.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <numbers>

#include "harness/program/random.h"
#include "labs/radiance/export/marching_cubes.h"

namespace klab {
namespace {

using Value = std::function<float(Vec3)>;

Mesh surface_of(const Value& value, std::array<int, 3> points, Vec3 low, Vec3 high, float level = 0) {
  SampledBox box{.points = points, .low = low, .high = high, .values = {}};
  std::vector<float> values;
  for (int z = 0; z < points[2]; ++z)
    for (int y = 0; y < points[1]; ++y)
      for (int x = 0; x < points[0]; ++x) values.push_back(value(box.at(x, y, z)));
  box.values = values;
  return marching_cubes(box, level);
}

/// Counts how often triangles pass each edge, by its ends in the direction of passing.
void expect_closed(const Mesh& mesh) {
  ASSERT_EQ(mesh.normals.size(), mesh.positions.size());
  std::map<std::pair<uint32_t, uint32_t>, int> passed;
  for (const auto& t : mesh.triangles)
    for (size_t k = 0; k < 3; ++k) {
      ASSERT_LT(t[k], mesh.positions.size());
      ++passed[{t[k], t[(k + 1) % 3]}];
    }
  for (const auto& [edge, times] : passed) {
    ASSERT_EQ(times, 1) << "edge " << edge.first << "-" << edge.second;
    ASSERT_TRUE(passed.contains({edge.second, edge.first})) << "edge " << edge.first << "-" << edge.second;
  }
}

double volume_of(const Mesh& mesh) {
  double sum = 0;
  for (const auto& [a, b, c] : mesh.triangles)
    sum += double(dot(mesh.positions[a], cross(mesh.positions[b], mesh.positions[c]))) / 6;
  return sum;
}

/// Vertices are within e = h²/8(R-h) of a sphere of radius R: the distance to it, linear between grid points a step h apart,
/// is wrong by that, since its second derivative is at most 1/(R-h) there. Three points of a cell at a radius of R-e or more
/// have nothing between them nearer than the square root of (R-e)²-h²: a mean of points with weights w has the mean of their
/// squares, less the sum of w·w·(distance)², here at most 3h²/3. So the surface lies between two spheres, and so does its
/// volume. A closed surface has at least the area of a sphere of its volume. By the divergence theorem for x/|x|, the
/// area, weighted with the cosine of normal and radius, is between those of the spheres.
TEST(MarchingCubes, SphereHasItsAreaAndVolume) {
  const double R = 0.37;
  const Vec3 middle{0.51F, 0.48F, 0.503F};
  for (const int n : {20, 40}) {
    const Mesh mesh = surface_of([&](Vec3 p) { return float(R) - length(p - middle); }, {n + 1, n + 1, n + 1},
                                 {0, 0, 0}, {1, 1, 1});
    expect_closed(mesh);
    const double h = 1.0 / n, e = h * h / (8 * (R - h)) + 1e-6, outer = R + e,
                 inner = std::sqrt((R - e) * (R - e) - h * h), pi = std::numbers::pi;
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
      const Vec3 from = mesh.positions[i] - middle;
      ASSERT_NEAR(length(from), R, e + 1e-3 * h) << "ends of edges are left alone";
      ASSERT_GT(dot(mesh.normals[i], normalized(from)), 0.99F);
    }
    const double area = area_of(mesh), volume = volume_of(mesh);
    EXPECT_GE(volume, 4 * pi / 3 * std::pow(inner, 3));
    EXPECT_LE(volume, 4 * pi / 3 * std::pow(outer, 3));
    EXPECT_GE(area, std::cbrt(36 * pi * volume * volume) * (1 - 1e-6));
    double along = 0;
    for (const auto& [a, b, c] : mesh.triangles) {
      const Vec3 p = mesh.positions[a], q = mesh.positions[b], r = mesh.positions[c];
      along += 0.5 * double(dot(cross(q - p, r - p), normalized((1 / 3.0F) * (p + q + r) - middle)));
    }
    // The radius turns by less than sqrt(3)·h/inner within a cell, and the cosine with it.
    const double turned = std::sqrt(3) * h / inner;
    EXPECT_GE(along, 4 * pi * inner * inner * (1 - turned));
    EXPECT_LE(along, 4 * pi * outer * outer * (1 + turned));
    EXPECT_LE(area, 4 * pi * outer * outer * (1 + turned)) << "no folds";
  }
}

/// Noise has every case of a cell, also with corners inside that touch at an edge or a corner only, and is cut by the box.
TEST(MarchingCubes, EveryCaseIsClosed) {
  std::map<int, int> cases;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Draws draws(seed, 0, 1);
    constexpr int kSide = 9;
    const auto noise = [&](Vec3 p) {
      const auto at = uint64_t(std::lround(p.x) + kSide * (std::lround(p.y) + kSide * std::lround(p.z)));
      return draws.unit(at) - 0.1F * float(seed);
    };
    for (int c = 0; c < 8 * 8 * 8; ++c) {
      int inside = 0;
      for (int k = 0; k < 8; ++k)
        inside |= int(noise({float(c % 8 + (k & 1)), float(c / 8 % 8 + (k >> 1 & 1)),
                             float(c / 64 + (k >> 2))}) >= 0)
                  << k;
      ++cases[inside];
    }
    const Mesh mesh = surface_of(noise, {kSide, kSide, kSide}, {0, 0, 0}, {kSide - 1, kSide - 1, kSide - 1});
    expect_closed(mesh);
    if (seed < 10) {
      EXPECT_FALSE(mesh.triangles.empty());
      EXPECT_GT(volume_of(mesh), 0);
    }
  }
  EXPECT_EQ(cases.size(), 256U) << "the noise has every case";
}

TEST(MarchingCubes, BoxThatIsAllInsideIsABox) {
  const Vec3 low{-1, 0.5F, 2}, high{0.5F, 1.25F, 5};
  const Mesh mesh = surface_of([](Vec3) { return 1.0F; }, {4, 3, 5}, low, high);
  expect_closed(mesh);
  EXPECT_NEAR(volume_of(mesh), 1.5 * 0.75 * 3, 1e-5);
  EXPECT_NEAR(area_of(mesh), 2 * (1.5 * 0.75 + 1.5 * 3 + 0.75 * 3), 1e-5);
}

/// A half space cut by the box: the volume is that of the part within, and the caps lie in the faces.
TEST(MarchingCubes, FacesOfTheBoxCloseTheSurface) {
  const Mesh mesh = surface_of([](Vec3 p) { return 0.3F - p.x; }, {8, 6, 5}, {0, 0, 0}, {1, 1, 1});
  expect_closed(mesh);
  EXPECT_NEAR(volume_of(mesh), 0.3, 1e-5) << "linear functions are interpolated exactly";
  EXPECT_NEAR(area_of(mesh), 2 + 4 * 0.3, 1e-5);
  for (const Vec3 p : mesh.positions) EXPECT_LE(p.x, 0.3F + 1e-6F);
}

TEST(MarchingCubes, PointsWithoutAValueAreOutside) {
  const auto value = [](Vec3 p) { return p.x > 0.55F ? kNoValue : p.y > 0.8F ? NAN : 5.0F; };
  const Mesh mesh = surface_of(value, {11, 11, 3}, {0, 0, 0}, {1, 1, 1});
  expect_closed(mesh);
  for (const Vec3 p : mesh.positions) {
    ASSERT_TRUE(std::isfinite(length(p)));
    EXPECT_LE(p.x, 0.55F + 1e-5F) << "in the middle between 0.5 and 0.6";
    EXPECT_LE(p.y, 0.85F + 1e-5F);
  }
  EXPECT_TRUE(surface_of([](Vec3) { return kNoValue; }, {3, 3, 3}, {0, 0, 0}, {1, 1, 1}).triangles.empty());
}

TEST(MarchingCubes, PointsLieEvenlyOnTheSurface) {
  Mesh mesh = surface_of([](Vec3 p) { return 0.3F - p.x; }, {9, 9, 9}, {0, 0, 0}, {1, 1, 1});
  mesh.colors.assign(mesh.positions.size(), {10, 20, 30});
  const Mesh points = points_on(mesh, 3000, 7);
  ASSERT_EQ(points.positions.size(), 3000U);
  EXPECT_TRUE(points.triangles.empty());
  int in_front = 0;  // on the face x = 0.3, one of an area of 3.2
  for (size_t i = 0; i < 3000; ++i) {
    const Vec3 p = points.positions[i];
    in_front += std::abs(p.x - 0.3F) < 1e-5F;
    ASSERT_EQ(points.colors[i], (std::array<uint8_t, 3>{10, 20, 30}));
    const float nearest = std::min({std::abs(p.x), std::abs(p.x - 0.3F), std::abs(p.y), std::abs(1 - p.y),
                                    std::abs(p.z), std::abs(1 - p.z)});
    ASSERT_LT(nearest, 1e-5F);
  }
  // One point in each piece of area, triangle after triangle: each of the 64 rows of cells passes the face once, and the
  // piece at either end of a run may count or not.
  EXPECT_NEAR(in_front, 3000 / 3.2, 64);
}

}  // namespace
}  // namespace klab
