// Surfaces, points and baked voxels of trained fields: values at points are those of pictures, places those of the world.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/program/plan.h"
#include "labs/radiance/export/bake.h"
#include "labs/radiance/export/marching_cubes.h"
#include "labs/radiance/export/surface.h"
#include "labs/radiance/splat/gaussian_field.h"
#include "labs/radiance/train/backends.h"

namespace klab {
namespace {

const Vec3 kBallMiddle{0.48F, 0.52F, 0.5F};
constexpr int64_t kCells = 16;

/// Voxels in every vertex, whose logarithm of the density falls with the distance from the middle; red depends on the view.
VoxelModel ball(float inside = 5, float slope = 12) {
  VoxelConfig config;
  config.first_grid = config.grid = kCells;
  config.sh_degree = 1;
  VoxelModel model = VoxelModel::at_first(config, {});
  const int64_t line = kCells + 1;
  for (int64_t v = 0; v < model.links.size(); ++v) {
    const Vec3 p =
        (1 / float(kCells)) * Vec3{float(v % line), float(v / line % line), float(v / (line * line))};
    const int32_t row = model.links[v];
    model.density[row] = inside - slope * length(p - kBallMiddle);
    const float coefficients[3][4] = {{1, 0.4F, -0.3F, 0.2F}, {-0.5F, 0, 0, 0}, {2, 0, 0, 0}};
    for (int64_t k = 0; k < 3; ++k)
      for (int64_t b = 0; b < 4; ++b) model.coefficients[(row * 3 + k) * 4 + b] = coefficients[k][b];
  }
  return model;
}

struct Points {
  std::unique_ptr<FieldModel> model;
  std::unique_ptr<FieldPoints> field;
  explicit Points(VoxelModel voxels) : model(field_model(std::move(voxels))) {
    CallTimes times;
    field = field_points(*model, Plan::named("naive", model->picture_calls(backend_named("cpu")), times));
  }
  float density(Vec3 p) const {
    float out = 0;
    field->density(&p, 1, &out);
    return out;
  }
};

/// A field of another program, whose axes are y, z and x of the grid's.
TEST(Surface, FieldsInOtherAxesAreFoundAtTheirPlaces) {
  Config config;
  config.levels = 2, config.log2_table = 8, config.base_resolution = 4, config.finest_resolution = 8;
  config.width = 16, config.grid = 8;
  Model plain(config, {});
  plain.initialize(3);
  for (int64_t i = 0; i < plain.of(Part::table).size(); ++i) plain.of(Part::table)[i] = std::sin(float(i));
  std::fill(plain.occupancy.begin(), plain.occupancy.begin() + 32, uint8_t(0));  // half of the cube, in z
  Model turned = plain.copy();
  turned.placement.yzx = true;
  const auto model = field_model(std::move(plain)), other = field_model(std::move(turned));
  CallTimes times;
  const Plan plan = Plan::named("naive", model->picture_calls(backend_named("cpu")), times);
  const auto here = field_points(*model, plan), there = field_points(*other, plan);
  const Vec3 filled{0.2F, 0.7F, 0.9F}, empty{0.9F, 0.7F, 0.2F}, to = normalized({1, 2, -3});
  const auto in_its_axes = [](Vec3 v) {
    return Vec3{v.z, v.x, v.y};
  };  // the point that the turned field has there
  for (const Vec3 point : {filled, empty}) {
    const Vec3 moved = in_its_axes(point), direction = in_its_axes(to);
    float a = 0, b = 0;
    here->density(&point, 1, &a);
    there->density(&moved, 1, &b);
    EXPECT_EQ(a, b);
    EXPECT_EQ(a == kNoValue, point.z < 0.5F);
    Vec3 color, same;
    here->color(&point, &to, 1, &color);
    there->color(&moved, &direction, 1, &same);
    EXPECT_EQ(color.x, same.x);
  }
}

TEST(Surface, ValuesBetweenVerticesAreInterpolated) {
  VoxelModel voxels = ball();
  const auto at = [&](int64_t x, int64_t y, int64_t z) -> int32_t& {
    return voxels.links[(z * (kCells + 1) + y) * (kCells + 1) + x];
  };
  float sum = 0;
  for (int64_t c = 0; c < 8; ++c) sum += voxels.density[at(3 + (c & 1), 4 + (c >> 1 & 1), 5 + (c >> 2))];
  const float corner = voxels.density[at(3, 4, 5)];
  at(9, 9, 9) = -1;  // and the eight cells around it
  voxels.mark_cells();
  const Points points(std::move(voxels));
  const auto place = [](float x, float y, float z) { return (1 / float(kCells)) * Vec3{x, y, z}; };
  EXPECT_NEAR(points.density(place(3.5F, 4.5F, 5.5F)), sum / 8, 1e-5);
  EXPECT_NEAR(points.density(place(3, 4, 5)), corner, 1e-5);
  EXPECT_EQ(points.density(place(9.5F, 8.5F, 8.5F)), kNoValue) << "a cell that pictures pass over";
  EXPECT_GT(points.density(place(10, 9, 9)), kNoValue) << "a corner of a cell that they do not";
  EXPECT_EQ(points.density({0.5F, 1.01F, 0.5F}), kNoValue) << "outside of the box";
}

/// Where the surface's grid is the field's, densities along its edges are linear in their logarithms: vertices have the level.
TEST(Surface, LiesWhereTheDensityIsTheLevel) {
  const Points points(ball());
  const Mesh mesh = field_surface(*points.field, {.resolution = int(kCells), .level = 8});
  ASSERT_GT(mesh.triangles.size(), 100U);
  ASSERT_EQ(mesh.colors.size(), mesh.positions.size());
  const double radius = (5 - std::log(8)) / 12;
  for (size_t i = 0; i < mesh.positions.size(); ++i) {
    ASSERT_NEAR(std::exp(points.density(mesh.positions[i])), 8, 0.02);
    ASSERT_NEAR(length(mesh.positions[i] - kBallMiddle), radius, 0.5 / double(kCells * kCells) / radius);
    // The color that a ray against the normal sees: harmonics of degree 1, of -normal.
    const Vec3 d = -1.0F * mesh.normals[i];
    const float red = 0.28209479F + 0.48860251F * (-0.4F * d.y - 0.3F * d.z - 0.2F * d.x);
    ASSERT_NEAR(mesh.colors[i][0], 255 / (1 + std::exp(-red)), 0.6);
    ASSERT_NEAR(mesh.colors[i][1], 255 / (1 + std::exp(0.5 * 0.28209479)), 0.6);
  }
  EXPECT_THROW(field_surface(*points.field, {.resolution = 8, .level = 1e6}), std::runtime_error);
  const SurfaceOptions flat{.resolution = 10, .level = 8, .low = {0, 0, 0}, .high = {1, 0.5F, 0.05F}};
  EXPECT_EQ(surface_points(flat), (std::array<int, 3>{11, 6, 2}));
}

TEST(Surface, MovesToTheWorld) {
  Mesh mesh;
  mesh.positions = {{0.5F, 0.75F, 1}};
  mesh.normals = {{0, 1, 0}};
  // x of the grid is y of the world, y is z, z is x.
  const WorldPlace place{.scale = 0.5F, .offset = {0, 0.25F, 0}, .turn = {0, 1, 0, 0, 0, 1, 1, 0, 0}};
  move_to_world(mesh, place);
  EXPECT_NEAR(length(mesh.positions[0] - Vec3{2, 1, 1}), 0, 1e-6);
  EXPECT_NEAR(length(mesh.normals[0] - Vec3{0, 0, 1}), 0, 1e-6);
}

/// A fog of one density and one color has the same mean everywhere, and harmonics are fitted exactly.
TEST(Surface, BakedFogIsTheSameFog) {
  const Points fog(ball(2, 0));
  const Points baked(baked_voxels(*fog.field, fog.model->placement(), {.grid = 32, .sh_degree = 1}));
  const Vec3 places[] = {{0.11F, 0.52F, 0.83F}, {0.5F, 0.5F, 0.5F}, {0, 1, 0.3F}};
  const Vec3 directions[] = {normalized({1, 2, -1}), {0, 0, 1}, normalized({-1, 0.2F, 0.4F})};
  Vec3 here[3], there[3];
  fog.field->color(places, directions, 3, here);
  baked.field->color(places, directions, 3, there);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(baked.density(places[i]), 2, 1e-4);
    EXPECT_NEAR(length(here[i] - there[i]), 0, 1e-4);
  }
}

TEST(Surface, BakedVoxelsLeaveEmptySpaceOut) {
  const Points whole(ball(5, 30));
  const VoxelModel baked = baked_voxels(*whole.field, whole.model->placement(), {.grid = 16, .sh_degree = 0});
  EXPECT_GT(baked.rows(), 50);
  EXPECT_LT(baked.rows(), (kCells + 1) * (kCells + 1) * (kCells + 1) / 2);
  EXPECT_THROW(
      baked_voxels(*Points(ball(-9, 0)).field, whole.model->placement(), {.grid = 16, .sh_degree = 0}),
      std::runtime_error);
}

TEST(Surface, GaussiansArePointsWhereTheyAreOpaque) {
  GaussianModel model;
  model.set = GaussianSet::zeros(2, 1);
  GaussianSet& set = model.set;
  set.opacity_raw = {3, -1};
  for (size_t k = 0; k < 3; ++k) set.position[2 * k] = 0.9F;
  set.log_scale[2] = -4;                      // flat along its y, ...
  set.quaternion[0] = set.quaternion[2] = 2;  // ... which a quarter turn about x makes z
  set.quaternion[1] = 1;
  set.coefficients[0] = 1;
  const Mesh points = points_of_gaussians(set);
  ASSERT_EQ(points.positions.size(), 1U);
  EXPECT_NEAR(length(points.normals[0] - Vec3{0, 0, 1}), 0, 1e-6);
  EXPECT_EQ(points.colors[0], (std::array<uint8_t, 3>{199, 128, 128}));
  const GaussianModel plain = plain_gaussians(model);
  EXPECT_EQ(plain.set.coefficients.size(), 6U);
  EXPECT_EQ(plain.set.coefficients[0], 1);
  EXPECT_EQ(field_points(*field_model(std::move(model)), Plan()), nullptr) << "they have no density";
}

}  // namespace
}  // namespace klab
