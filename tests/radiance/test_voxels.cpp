// Scenes as voxels: grids that are refined and pruned, and the trainer of them.
// ctest: sanitized-ops slow
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/evaluate/voxel_renderer.h"
#include "labs/radiance/train/voxel_trainer.h"
#include "reference/graded_grid.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

VoxelConfig small_voxels() {
  VoxelConfig c;
  c.first_grid = 16;
  c.grid = 32;
  c.batch_samples = 4096;
  c.first_rays = 64;
  return c;
}

const Plan& voxel_plan(const std::string& name = "best") {
  static std::map<std::string, Plan> plans;
  static CallTimes times;
  if (!plans.contains(name)) plans.emplace(name, Plan::named(name, voxel_calls(small_voxels(), true), times));
  return plans.at(name);
}

double score(const VoxelModel& model, const Plan& plan) {
  VoxelRenderer renderer(model, plan, backend_named("cpu"));
  return evaluate([&](const Camera& camera) { return renderer.render(camera); }, model.placement.black,
                  small_scene().test)
      .psnr;
}

/// A model with random numbers.
VoxelModel some_voxels(const VoxelConfig& config) {
  VoxelModel model = VoxelModel::at_first(config, {});
  std::mt19937_64 random(4);
  std::normal_distribution<float> normal;
  for (float& v : model.density) v = normal(random);
  for (float& v : model.coefficients) v = normal(random);
  return model;
}

/// Densities and colors at the points, by the contract's reference.
std::vector<double> at_points(const VoxelModel& m, const std::vector<double>& positions) {
  const auto n = int64_t(positions.size() / 3);
  std::vector<double> directions(positions.size(), std::sqrt(1.0 / 3)),
      density(m.density.begin(), m.density.end()), coefficients(m.coefficients.begin(), m.coefficients.end()),
      out(size_t(4 * n)), bound(size_t(4 * n));
  const double empty = m.config.empty;
  const auto args = [&](std::vector<double>& to) {
    return VoxelShFwd::Args<double>{{n, m.grid, m.rows(), m.config.basis()},
                                    positions.data(),
                                    directions.data(),
                                    m.links.data(),
                                    &empty,
                                    density.data(),
                                    coefficients.data(),
                                    to.data(),
                                    to.data() + n};
  };
  VoxelShFwd::reference(args(out), args(bound));
  return out;
}

TEST(Voxels, RefiningKeepsTheFunction) {
  VoxelConfig config = small_voxels();
  config.prune = 0;
  const VoxelModel coarse = some_voxels(config), fine = coarse.refined(2);
  EXPECT_EQ(fine.grid, 32);
  EXPECT_EQ(fine.rows(), 33 * 33 * 33);
  EXPECT_EQ(coarse.rows_refined(2), fine.rows());
  std::mt19937_64 random(1);
  std::vector<double> positions;
  for (int i = 0; i < 600; ++i) positions.push_back(double(random() % 4097) / 4096);
  const std::vector<double> before = at_points(coarse, positions), after = at_points(fine, positions);
  for (size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(before[i], after[i], 1e-5) << i;
}

TEST(Voxels, PruningKeepsDenseCellsAndTheirNeighbors) {
  VoxelConfig config = small_voxels();
  VoxelModel model = VoxelModel::at_first(config, {});
  std::fill(model.density.begin(), model.density.end(), -12.0F);
  const int64_t line = 17, vertex = (5 * line + 7) * line + 9;
  model.density[model.links[vertex]] = 6;
  const VoxelModel pruned = model.refined(1);
  // Eight cells around the vertex, one more on each side: 4x4x4 cells, 5x5x5 vertices.
  EXPECT_EQ(pruned.rows(), 125);
  EXPECT_EQ(pruned.density[pruned.links[vertex]], 6);
  EXPECT_EQ(pruned.links[0], -1);
  int64_t cells = 0;
  for (const uint8_t byte : pruned.occupancy) cells += std::popcount(byte);
  EXPECT_EQ(cells, 64);
  std::fill(model.density.begin(), model.density.end(), -12.0F);
  EXPECT_THROW(model.refined(1), std::runtime_error);
}

TEST(Voxels, PlanesOfAGradedGridMatchItsPlaces) {
  for (const double side : {4.0, 8.0, 16.0})
    for (const int32_t cells : {16, 64, 256}) {
      const GradedGrid graded = GradedGrid::of(side, true);
      double before = -side;
      for (int32_t k = 0; k <= cells; ++k) {
        const double y = graded.plane<double>(k, cells);
        EXPECT_EQ(double(graded.plane<float>(k, cells)), y) << "planes are exact";
        EXPECT_GT(y, before);
        EXPECT_NEAR(graded.place(y) * cells, k, 1e-9) << side << " " << k;
        before = y;
      }
      EXPECT_EQ(graded.plane<double>(0, cells), -side / 2);
      EXPECT_EQ(graded.plane<double>(cells, cells), side / 2);
      EXPECT_EQ(graded.plane<double>(cells / 4, cells), -0.5) << "the inner half is the unit cube";
      // A grid twice as fine has all planes of this one.
      EXPECT_EQ(graded.plane<double>(2 * (cells / 8), 2 * cells), graded.plane<double>(cells / 8, cells));
    }
  EXPECT_TRUE(GradedGrid::of(2, true).even());
  EXPECT_TRUE(GradedGrid::of(8, false).even());
}

TEST(Voxels, PrunesCellsThatNoRayMeets) {
  VoxelConfig config = small_voxels();
  VoxelModel model = VoxelModel::at_first(config, {});
  std::fill(model.density.begin(), model.density.end(), 6.0F);
  std::vector<uint8_t> seen(size_t(model.rows()), 0);
  const int64_t line = 17, vertex = (5 * line + 7) * line + 9;
  seen[size_t(model.links[vertex])] = 1;
  EXPECT_EQ(model.refined(1, seen).rows(), 125) << "as in what is dense at one vertex only";
  EXPECT_EQ(model.rows_refined(1, seen), 125);
  EXPECT_EQ(model.refined(1).rows(), 17 * 17 * 17) << "without rays all of it stays";
}

TEST(Voxels, OldFilesHaveCellsOfOneSize) {
  Placement far;
  far.cascades = 3;
  VoxelModel model = VoxelModel::at_first(small_voxels(), far);
  EXPECT_TRUE(model.is_graded());
  std::map<std::string, std::string> metadata = model.metadata();
  const TempFolder folder;
  const fs::path file = folder / "spacing.safetensors";
  for (const bool old : {false, true}) {
    nlohmann::json config = nlohmann::json::parse(metadata["config"]);
    if (old) ASSERT_EQ(config.erase("spacing"), 1U);
    metadata["config"] = config.dump();
    save_tensors(file, model.tensors(), metadata);
    EXPECT_EQ(VoxelModel::load(file).is_graded(), !old);
  }
}

TEST(Voxels, FilesRoundTrip) {
  const VoxelModel model = some_voxels(small_voxels());
  const TempFolder folder;
  const fs::path file = folder / "voxels.safetensors";
  model.save(file);
  const VoxelModel read = VoxelModel::load(file);
  EXPECT_TRUE(std::equal(model.links.begin(), model.links.end(), read.links.begin(), read.links.end()));
  EXPECT_TRUE(
      std::equal(model.density.begin(), model.density.end(), read.density.begin(), read.density.end()));
  EXPECT_TRUE(std::equal(model.coefficients.begin(), model.coefficients.end(), read.coefficients.begin(),
                         read.coefficients.end()));
  EXPECT_TRUE(std::equal(model.occupancy.begin(), model.occupancy.end(), read.occupancy.begin(),
                         read.occupancy.end()));
}

TEST(Voxels, LinksBeyondTheTablesAreRefused) {
  VoxelModel model = some_voxels(small_voxels());
  model.links[7] = int32_t(model.rows());
  const TempFolder folder;
  const fs::path file = folder / "links.safetensors";
  model.save(file);
  try {
    VoxelModel::load(file);
    FAIL() << "was read";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("\"links\" has row 4913"), std::string::npos) << e.what();
  }
}

TEST(Voxels, TheTrainerLearnsTheBuiltInScene) {
  const Plan& plan = voxel_plan();
  VoxelTrainer trainer(small_scene(), small_voxels(), plan, 1);
  const double before = score(trainer.model(), plan);
  for (int i = 0; i < 300; ++i) trainer.step(i / 300.0);
  const double after = score(trainer.model(), plan);
  EXPECT_GT(after, before + 3);
  EXPECT_GT(after, 18);
  EXPECT_EQ(trainer.model().grid, 32);
  EXPECT_LT(trainer.occupied_share(), 0.7);
}

TEST(Voxels, PlansAgree) {
  VoxelTrainer best(small_scene(), small_voxels(), voxel_plan(), 3),
      naive(small_scene(), small_voxels(), voxel_plan("naive"), 3);
  for (int i = 0; i < 5; ++i) {
    const double a = best.step(0).loss, b = naive.step(0).loss;
    EXPECT_NEAR(a, b, 0.02 * a) << "step " << i;
  }
}

TEST(Voxels, ResumesToTheBit) {
  const Plan& plan = voxel_plan();
  const TempFolder folder;
  const fs::path file = folder / "checkpoint.safetensors";
  VoxelTrainer whole(small_scene(), small_voxels(), plan, 5);
  for (int i = 0; i < 40; ++i) whole.step(i / 60.0);
  whole.save(file, {});
  for (int i = 40; i < 60; ++i) whole.step(i / 60.0);
  VoxelTrainer resumed(small_scene(), small_voxels(), plan, 99);
  resumed.restore(TensorFile(file));
  EXPECT_EQ(resumed.steps_done(), 40);
  for (int i = 40; i < 60; ++i) resumed.step(i / 60.0);
  const VoxelModel &a = whole.model(), &b = resumed.model();
  EXPECT_TRUE(std::equal(a.density.begin(), a.density.end(), b.density.begin(), b.density.end()));
  EXPECT_TRUE(
      std::equal(a.coefficients.begin(), a.coefficients.end(), b.coefficients.begin(), b.coefficients.end()));
}

TEST(Voxels, StaysCoarseIfAFinerGridHasTooManyRows) {
  VoxelConfig config = small_voxels();
  config.max_rows = 5000;  // the first grid has 4913
  config.prune = 0;
  VoxelTrainer trainer(small_scene(), config, voxel_plan(), 1);
  for (int i = 0; i < 50; ++i) trainer.step(i / 50.0);
  EXPECT_EQ(trainer.model().grid, 16);
  EXPECT_GT(trainer.changes_done(), 0);
}

}  // namespace
}  // namespace klab
