// Snapshots of instant-ngp: fields of every layout are read as they were written, a program of its own finds the same values, and
// foreign, damaged or inexpressible ones are refused.
// ctest: sanitized-ops
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/program/random.h"
#include "harness/records/refused.h"
#include "labs/radiance/evaluate/field_model.h"
#include "labs/radiance/field/field.h"
#include "labs/radiance/field/packed_tree.h"
#include "labs/radiance/field/snapshot.h"
#include "reference/float16.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Config config_of_snapshot() {
  Config c;
  c.levels = 4;
  c.log2_table = 9;
  c.base_resolution = 4;
  c.finest_resolution = 32;
  c.width = 16;
  c.grid = 8;
  c.steps_per_diagonal = 40;
  c.max_samples_per_ray = 128;
  return c;
}

/// A model with features of ordinary size, in a box of side 2, a quarter of whose cells are empty.
Model model_of_snapshot(const Config& config, bool yzx = false) {
  Model model(config,
              {.cascades = 2, .scale = 0.25F, .offset = {0.5F, 0.375F, 0.625F}, .near = 0.125F, .yzx = yzx});
  model.initialize(7);
  const Draws draws(7, 1, 5);
  const Array<float>& table = model.of(Part::table);
  for (int64_t i = 0; i < table.size(); ++i) table[i] = 3 * (draws.unit(uint64_t(i)) - 0.5F);
  for (int64_t i = 0; i < model.occupancy.size(); i += 4) model.occupancy[i] = 0;
  return model;
}

Model as_halves(const Model& model) {
  Model out = model.copy();
  for (const Part part : kParts)
    for (float& x : out.of(part)) x = float_from_half(half_from_float(x));
  return out;
}

Picture picture_of_snapshot(const FieldModel& model, const Camera& camera) {
  const BackendChoice where = backend_named("cpu");
  static CallTimes times;
  return model.renderer(Plan::named("naive", model.picture_calls(where), times), where, 256)(camera);
}

Camera camera_of_snapshot() { return look_at({2.1F, 0.4F, 1.3F}, {0.5F, 0.5F, 0.5F}, 14, 12, 0.8F); }

double largest_of_snapshot(const Picture& a, const Picture& b) {
  double most = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i)
    most = std::max(most, std::abs(double(a.rgb[i]) - double(b.rgb[i])));
  return most;
}

class Snapshot : public ::testing::Test {
 protected:
  void save(const Model& model, int64_t steps = 0) const {
    save_snapshot(file, model,
                  {.source = "run/model.safetensors", .view = camera_of_snapshot(), .steps = steps});
  }
  /// Returns the field that a document is refused for; the message must name it, the file and a remedy.
  std::string refused(const json& tree) const {
    write_packed_tree(file, tree);
    return refused_file(file);
  }
  static std::string refused_file(const fs::path& at) {
    try {
      load_snapshot(at);
    } catch (const Refused& e) {
      EXPECT_TRUE(e.complete()) << e.what();
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      return e.field();
    } catch (const std::exception& e) {
      return std::string("no Refused: ") + e.what();
    }
    return "read";
  }
  std::string write_bytes(const std::string& bytes, const char* name = "x.ingp") const {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return refused_file(folder / name);
  }

  const TempFolder temp_;
  const fs::path folder = temp_.path();
  const fs::path file = folder / "snapshot.ingp";
};

TEST_F(Snapshot, FieldsAreReadAsTheyWereWritten) {
  Config odd = config_of_snapshot();  // every width is filled up
  odd.levels = 3, odd.features = 1, odd.width = 24, odd.sh_degree = 3, odd.geometry_features = 7;
  odd.density_hidden = 2, odd.color_hidden = 1, odd.interpolation = "smoothstep", odd.log2_table = 14;
  Config wide = config_of_snapshot();
  wide.width = 136, wide.features = 4, wide.levels = 1, wide.grid = 128, wide.interpolation = "nearest";
  for (const Config& config : {config_of_snapshot(), odd, wide}) {
    const Model model = model_of_snapshot(config);
    save(model);
    const Model read = load_snapshot(file);
    EXPECT_EQ(read.placement.cascades, 2);
    EXPECT_EQ(read.placement.scale, 0.25F);
    EXPECT_EQ(read.placement.offset.z, 0.625F);
    EXPECT_EQ(read.placement.near, 0.125F);
    EXPECT_FALSE(read.placement.black || read.placement.yzx);
    EXPECT_EQ(read.config.finest_resolution, config.levels > 1 ? config.finest_resolution : 4);
    EXPECT_EQ(read.config.steps_per_diagonal, 40);
    EXPECT_EQ(read.config.interpolation, config.interpolation);
    const auto field = field_model(read.copy());
    const Picture picture = picture_of_snapshot(*field, camera_of_snapshot());
    const auto rounded = field_model(as_halves(model)), exact = field_model(model.copy());
    EXPECT_LT(largest_of_snapshot(picture, picture_of_snapshot(*rounded, camera_of_snapshot())), 1e-4);
    const double lost = largest_of_snapshot(picture, picture_of_snapshot(*exact, camera_of_snapshot()));
    EXPECT_GT(lost, 0) << "nothing was rounded";
    EXPECT_LT(lost, 0.02);
  }
}

TEST_F(Snapshot, AProgramOfItsOwnFindsTheSameValues) {
  if (std::system("python3 --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no python3 here";
  Config config = config_of_snapshot();
  config.sh_degree = 3, config.width = 40;
  save(model_of_snapshot(config));
  const Model read = load_snapshot(file);
  constexpr int64_t n = 24;
  CallTimes times;
  const auto field = field_model(read.copy());
  const Plan plan = Plan::named("naive", field->picture_calls(backend_named("cpu")), times);
  Profile profile;
  Field points(read, plan, profile, n);
  const Draws draws(11, 0, 9);
  std::vector<float> positions(3 * n), directions(3 * n);
  for (int64_t i = 0; i < n; ++i) {
    Vec3 d{draws.unit(uint64_t(6 * i)) - 0.5F, draws.unit(uint64_t(6 * i + 1)) - 0.5F,
           draws.unit(uint64_t(6 * i + 2)) - 0.5F};
    d = normalized(d);
    const float to[3] = {d.x, d.y, d.z};
    for (int64_t k = 0; k < 3; ++k) {
      directions[size_t(k * n + i)] = to[k];
      positions[size_t(k * n + i)] = draws.unit(uint64_t(6 * i + 3 + k));
    }
  }
  points.density(read.of(Part::table).data(), read.of(Part::density).data(), positions.data(), n);
  points.color(read.of(Part::color).data(), directions.data(), n);
  json values = json::array();
  for (int64_t i = 0; i < n; ++i) {
    const auto three = [&](const float* of) -> json { return {of[i], of[n + i], of[2 * n + i]}; };
    values.push_back({{"point", three(positions.data())},
                      {"direction", three(directions.data())},
                      {"log_density", points.geometry(n)[i]},
                      {"color", three(points.rgb())}});
  }
  std::ofstream(folder / "values.json") << values;
  const std::string command = fmt::format(
      "cd '{}' && python3 '{}/tests/radiance/exported_files.py' snapshot '{}/docs/files.md' values.json",
      folder.string(), KLAB_SOURCE_DIR, KLAB_SOURCE_DIR);
  EXPECT_EQ(std::system(command.c_str()), 0);
}

/// A snapshot as instant-ngp's default config makes it, but for the sizes; parameter i is i / 1024.
json tree_of_others() {
  constexpr int64_t n = 512 + 1024 + 2 * (64 + 256);
  json::binary_t numbers;
  numbers.resize(4 * n);
  for (int64_t i = 0; i < n; ++i) {
    const float x = float(i) / 1024;
    std::memcpy(numbers.data() + 4 * i, &x, 4);
  }
  const json network = {
      {"otype", "FullyFusedMLP"}, {"activation", "ReLU"}, {"output_activation", "None"}, {"n_neurons", 16}};
  json tree = {{"encoding",
                {{"otype", "HashGrid"},
                 {"n_levels", 2},
                 {"n_features_per_level", 2},
                 {"log2_hashmap_size", 8},
                 {"base_resolution", 4},
                 {"per_level_scale", 2.0}}},
               {"network", network},
               {"dir_encoding",
                {{"otype", "Composite"},
                 {"nested",
                  {{{"n_dims_to_encode", 3}, {"otype", "SphericalHarmonics"}, {"degree", 4}},
                   {{"otype", "Identity"}}}}}},
               {"rgb_network", network},
               {"snapshot",
                {{"version", 1},
                 {"mode", "nerf"},
                 {"n_params", n},
                 {"params_type", "float"},
                 {"params_binary", json(numbers)},
                 {"density_grid_size", 128},
                 {"density_grid_binary", json(json::binary_t())},
                 {"background_color", {0.0, 0.0, 0.0, 1.0}},
                 {"nerf", {{"aabb_scale", 1}}}}}};
  tree["network"]["n_hidden_layers"] = 1;
  tree["rgb_network"]["n_hidden_layers"] = 2;
  return tree;
}

TEST_F(Snapshot, SnapshotsOfInstantNgpFindTheirPlaces) {
  json tree = tree_of_others();
  write_packed_tree(file, tree);
  const Model model = load_snapshot(file);
  EXPECT_TRUE(model.placement.yzx && model.placement.black);
  EXPECT_EQ(model.placement.cascades, 1);
  EXPECT_FLOAT_EQ(model.placement.scale, 0.33F);
  EXPECT_EQ(model.config.finest_resolution, 8);
  EXPECT_EQ(model.config.steps_per_diagonal, 1024);
  EXPECT_EQ(model.config.geometry_features, 16);
  const auto number = [](int64_t i) { return float(i) / 1024; };
  EXPECT_EQ(model.of(Part::density)[2 * 4 + 3], number(2 * 16 + 3))
      << "row 2 of the first layer, feature 3 of 4";
  EXPECT_EQ(model.of(Part::density)[16 * 4 + 5 * 16 + 7], number(256 + 5 * 16 + 7));
  EXPECT_EQ(model.of(Part::color)[3 * 32 + 1], number(512 + 3 * 32 + 17)) << "a harmonic";
  EXPECT_EQ(model.of(Part::color)[3 * 32 + 17], number(512 + 3 * 32 + 1))
      << "an output of the density network";
  EXPECT_EQ(model.of(Part::color)[512 + 256 + 2 * 16 + 9], number(512 + 512 + 256 + 2 * 16 + 9));
  EXPECT_EQ(model.of(Part::table)[100], number(1536 + 100));
  EXPECT_EQ(model.occupancy[0], 0xFF) << "no grid: all cells are taken";

  json cells = tree;  // of which one in 64 exceeds the threshold, and others do not
  json::binary_t grid;
  grid.resize(2 * 128 * 128 * 128);
  for (size_t i = 0; i < grid.size() / 2; ++i) {
    const uint16_t half = half_from_float(i % 64 == 3 ? 0.5F : i % 64 == 4 ? 0.0075F : 0.0F);
    grid[2 * i] = uint8_t(half & 255), grid[2 * i + 1] = uint8_t(half >> 8);
  }
  cells["snapshot"]["density_grid_binary"] = json(grid);
  write_packed_tree(file, cells);
  const Model read = load_snapshot(file);
  EXPECT_EQ(read.occupancy[8], 8) << "the threshold is the mean, 0.0079";
  EXPECT_EQ(read.occupancy[9], 0);

  tree["encoding"].erase("per_level_scale");  // from 4 to 2048 · 4 in one step
  tree["snapshot"]["nerf"]["dataset"] = {
      {"aabb_scale", 4}, {"from_mitsuba", true}, {"scale", 0.5}, {"offset", {1, 2, 3}}};
  write_packed_tree(file, tree);
  const Model large = load_snapshot(file);
  EXPECT_EQ(large.config.finest_resolution, 2048);
  EXPECT_EQ(large.placement.cascades, 3);
  EXPECT_FALSE(large.placement.yzx);
  EXPECT_EQ(large.placement.offset.y, 2);

  // Channels of ones that fill up harmonics act as the first one does.
  tree = tree_of_others();
  tree["dir_encoding"]["nested"][0]["degree"] = 2;
  write_packed_tree(file, tree);
  const Model few = load_snapshot(file);
  float ones = 0;
  for (int64_t k = 20; k < 32; ++k) ones += number(512 + k);
  EXPECT_NEAR(few.of(Part::color)[0], number(512 + 16) + ones / 0.28209479F, 1e-4F);
}

/// A dense level that single precision has made a point wider keeps its points.
TEST_F(Snapshot, WiderDenseLevelsKeepTheirPoints) {
  json tree = tree_of_others();
  tree["encoding"]["log2_hashmap_size"] = 10;
  tree["encoding"]["per_level_scale"] = 2.0000002F;
  const int64_t n = 512 + 1024 + 2 * (64 + 736);  // 9³ entries instead of 8³
  json::binary_t numbers;
  numbers.resize(4 * n);
  for (int64_t i = 0; i < n; ++i) {
    const float x = float(i) / 1024;
    std::memcpy(numbers.data() + 4 * i, &x, 4);
  }
  tree["snapshot"]["n_params"] = n;
  tree["snapshot"]["params_binary"] = json(numbers);
  write_packed_tree(file, tree);
  const Model model = load_snapshot(file);
  EXPECT_EQ(model.table_entries(), 64 + 512);
  for (const auto& [x, y, z] : {std::array{0, 0, 0}, std::array{7, 2, 5}, std::array{7, 7, 7}})
    EXPECT_EQ(model.of(Part::table)[2 * (64 + x + 8 * (y + 8 * z))],
              float(1536 + 2 * (64 + x + 9 * (y + 9 * z))) / 1024);
}

/// The same field in other axes, and the camera that sees it alike.
TEST_F(Snapshot, AxesOfInstantNgpTurnCamerasAlong) {
  const Model model = model_of_snapshot(config_of_snapshot(), true);
  save(model);
  const Model read = load_snapshot(file);
  EXPECT_TRUE(read.placement.yzx);
  Model plain = read.copy();
  plain.placement.yzx = false;
  const Camera camera = camera_of_snapshot();
  Camera turned = camera;
  for (size_t k = 0; k < 4; ++k) {
    turned.pose[k] = camera.pose[4 + k];      // x of the field is y of the world,
    turned.pose[4 + k] = camera.pose[8 + k];  // y is z,
    turned.pose[8 + k] = camera.pose[k];      // z is x
  }
  const auto field = field_model(read.copy()), same = field_model(std::move(plain));
  const Picture picture = picture_of_snapshot(*field, camera);
  EXPECT_EQ(largest_of_snapshot(picture, picture_of_snapshot(*same, turned)), 0);
  EXPECT_GT(largest_of_snapshot(picture, picture_of_snapshot(*same, camera)), 0.01);
  read.save(folder / "model.safetensors");
  EXPECT_TRUE(Model::load(folder / "model.safetensors").placement.yzx);
}

TEST_F(Snapshot, RefusesWhatTinyCudaNnCannotExpress) {
  const auto refused_setting = [&](const std::function<void(Config&)>& change) -> std::string {
    Config config = config_of_snapshot();
    change(config);
    try {
      save(model_of_snapshot(config));
    } catch (const Refused& e) {
      EXPECT_TRUE(e.complete()) << e.what();
      return e.field();
    }
    return "written";
  };
  EXPECT_EQ(refused_setting([](Config& c) { c.table = "adaptive"; }), "table");
  EXPECT_EQ(refused_setting([](Config& c) { c.hash = "morton"; }), "hash");
  EXPECT_EQ(refused_setting([](Config& c) { c.grid = 256; }), "grid");
  EXPECT_EQ(refused_setting([](Config& c) { c.finest_resolution = 1 << 19, c.levels = 16; }),
            "finest_resolution");
  const Model large = model_of_snapshot(config_of_snapshot());
  large.of(Part::color)[5] = 65520;
  try {
    save(large);
    ADD_FAILURE() << "written";
  } catch (const Refused& e) {
    EXPECT_EQ(e.field(), "color");
  }
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(Snapshot, RefusesOtherDocuments) {
  const auto with = [](const char* pointer, const json& value) {
    json tree = tree_of_others();
    tree[json::json_pointer(pointer)] = value;
    return tree;
  };
  EXPECT_EQ(refused(json::array({1})), "snapshot");
  EXPECT_EQ(refused(with("/snapshot/version", 2)), "version");
  EXPECT_EQ(refused(with("/snapshot/mode", "sdf")), "mode");
  EXPECT_EQ(refused(with("/snapshot/n_params", 2177)), "n_params");
  EXPECT_EQ(refused(with("/snapshot/params_type", "double")), "params_type");
  EXPECT_EQ(refused(with("/snapshot/params_binary", json(json::binary_t()))), "params_binary");
  EXPECT_EQ(refused(with("/snapshot/params_binary", 3)), "params_binary");
  EXPECT_EQ(refused(with("/snapshot/density_grid_size", 64)), "density_grid_size");
  EXPECT_EQ(refused(with("/snapshot/density_grid_binary", json::binary({1, 2}))), "density_grid_binary");
  EXPECT_EQ(refused(with("/snapshot/nerf/aabb_scale", 3)), "aabb_scale");
  EXPECT_EQ(refused(with("/snapshot/nerf/dataset", {{"aabb_scale", 1}, {"is_hdr", true}})), "is_hdr");
  EXPECT_EQ(refused(with("/snapshot/nerf/dataset", {{"aabb_scale", 1}, {"n_extra_learnable_dims", 8}})),
            "n_extra_learnable_dims");
  EXPECT_EQ(refused(with("/encoding/otype", "DenseGrid")), "encoding");
  EXPECT_EQ(refused(with("/encoding/hash", "Rng")), "hash");
  EXPECT_EQ(refused(with("/encoding/per_level_scale", 2.1)), "per_level_scale");
  EXPECT_EQ(refused(with("/encoding/interpolation", "Cubic")), "interpolation");
  EXPECT_EQ(refused(with("/network/activation", "Sine")), "activation");
  EXPECT_EQ(refused(with("/rgb_network/otype", "Transformer")), "otype");
  EXPECT_EQ(refused(with("/rgb_network/n_neurons", "many")), "n_neurons");
  EXPECT_EQ(refused(with("/dir_encoding/nested/0/otype", "Frequency")), "otype");
  json tree = tree_of_others();
  const float nan = NAN;
  std::memcpy(tree["snapshot"]["params_binary"].get_binary().data() + 400, &nan, 4);
  EXPECT_EQ(refused(tree), "params_binary");
}

TEST_F(Snapshot, RefusesDamagedFiles) {
  write_packed_tree(file, tree_of_others());
  std::ifstream in(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 60)
    EXPECT_EQ(write_bytes(whole.substr(0, at)), "gzip") << at;
  EXPECT_EQ(write_bytes(whole.substr(0, whole.size() - 1)), "gzip");
  EXPECT_EQ(write_bytes(whole + "x"), "gzip");
  EXPECT_EQ(write_bytes("{\"snapshot\": {}}"), "gzip");
  EXPECT_EQ(write_bytes(whole), "read");
  const std::vector<uint8_t> plain = json::to_msgpack(tree_of_others());
  const std::string bytes(plain.begin(), plain.end());
  EXPECT_EQ(write_bytes(bytes), "gzip");
  EXPECT_EQ(write_bytes(bytes, "x.msgpack"), "read");
  for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 60)
    EXPECT_EQ(write_bytes(bytes.substr(0, at), "x.msgpack"), "MessagePack") << at;
  EXPECT_EQ(write_bytes(bytes + "x", "x.msgpack"), "MessagePack");
  EXPECT_EQ(write_bytes(std::string(100000, '\x91'), "x.msgpack"), "MessagePack") << "nested too deep";
  EXPECT_EQ(write_bytes(std::string("\xDD\xFF\xFF\xFF\xFF", 5) + std::string(5'000'000, '\1'), "x.msgpack"),
            "MessagePack")
      << "millions of values";
}

}  // namespace
}  // namespace klab
