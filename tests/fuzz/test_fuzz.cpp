// Every reader gets broken inputs, some hundred here and as many as KLAB_FUZZ says elsewhere (the test preset "fuzz": 10,000),
// under AddressSanitizer too. It may take one for good or refuse it with a message; nothing else: no crash, no endless loop, no
// other exception, no memory by the gigabyte. What it takes is sound: finite, in range.
// ctest: sanitized
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <new>
// After <cstdio>, for jpeglib.h uses FILE without declaring it.
#include <cstdio>

#include <jpeglib.h>

#include "harness/core/registry.h"
#include "harness/program/plan.h"
#include "harness/records/export_file.h"
#include "harness/records/input.h"
#include "harness/records/ncu_csv.h"
#include "harness/records/recorded_counts.h"
#include "harness/records/rows.h"
#include "harness/records/session.h"
#include "labs/radiance/field/model.h"
#include "labs/radiance/run/metrics.h"
#include "labs/radiance/run/state.h"
#include "labs/radiance/scene/scene.h"
#include "labs/radiance/splat/ply.h"
#include "tests/fuzz/mutate.h"
#include "tests/records/rows_fixture.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using fuzz::Mutator;
using nlohmann::json;

class Fuzz : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("klab_fuzz_" + std::to_string(::getpid()) + "_" +
                                          ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  }
  static std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  /// `once` makes an input and has it read. Counts how many were taken: where none is, nothing behind the first test of the
  /// reader was looked at.
  void broken_inputs(const std::function<void(Mutator&)>& once) {
    int taken = 0, refused = 0;
    for (int i = 0; i < fuzz::inputs(); ++i) {
      Mutator mutator(uint64_t(i) + 1);
      const std::clock_t begin =
          std::clock();  // of this process: other work on the machine is nobody's fault
      try {
        once(mutator);
        ++taken;
      } catch (const std::bad_alloc&) {
        FAIL() << "input " << i << " asks for more memory than there is";
      } catch (const json::exception& e) {
        FAIL() << "input " << i << " is refused in the words of the JSON library: " << e.what();
      } catch (const std::logic_error& e) {
        if (dynamic_cast<const std::invalid_argument*>(&e) == nullptr)
          FAIL() << "input " << i << ": " << e.what();
        ++refused;
      } catch (const std::runtime_error& e) {
        const std::string message = e.what();
        EXPECT_LT(message.size(), 2000U) << "input " << i;
        EXPECT_NE(message, "") << "input " << i;
        ++refused;
      }
      const double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
      EXPECT_LT(seconds, 20) << "input " << i;
    }
    EXPECT_GT(refused, 0);
    EXPECT_GT(taken, 0);
  }

  static void expect_sound(const Scene& scene) {
    for (const auto* set : {&scene.train, &scene.test})
      for (const View& v : *set) {
        const auto w = float(v.camera.width), h = float(v.camera.height);
        ASSERT_EQ(v.image.rgba.size(), size_t(v.camera.width) * size_t(v.camera.height) * 4);
        for (const auto& [x, y] :
             {std::pair{0.5F, 0.5F}, {w - 0.5F, 0.5F}, {0.5F, h - 0.5F}, {w / 2, h / 2}}) {
          const Ray ray = v.camera.ray(x, y);
          for (const float f :
               {ray.origin.x, ray.origin.y, ray.origin.z, ray.direction.x, ray.direction.y, ray.direction.z})
            ASSERT_TRUE(std::isfinite(f));
          ASSERT_NEAR(length(ray.direction), 1, 1e-4);
        }
      }
  }

  fs::path folder;
};

json small_scene(const fs::path& folder) {
  json document = {{"camera_angle_x", 0.7},
                   {"k1", 0.05},
                   {"k2", -0.08},
                   {"p1", 1e-3},
                   {"w", 16},
                   {"h", 12},
                   {"cx", 8.5},
                   {"cy", 6},
                   {"aabb_scale", 4},
                   {"scale", 0.4},
                   {"offset", {0.5, 0.5, 0.5}},
                   {"frames", json::array()}};
  for (int i = 0; i < 3; ++i) {
    const std::string name = "v" + std::to_string(i) + ".png";
    std::vector<uint8_t> pixels(size_t(16 * 12 * 3));
    for (size_t k = 0; k < pixels.size(); ++k) pixels[k] = uint8_t(k * 31 + size_t(i));
    save_png(folder / name, 16, 12, 3, pixels);
    const float c = std::cos(float(i)), s = std::sin(float(i));
    document["frames"].push_back(
        {{"file_path", name},
         {"transform_matrix", {{c, 0, s, 4 * s}, {0, 1, 0, 0}, {-s, 0, c, 4 * c}, {0, 0, 0, 1}}}});
  }
  return document;
}

TEST_F(Fuzz, Scenes) {
  const json document = small_scene(folder);
  broken_inputs([&](Mutator& m) {
    write("transforms.json", m.json(document));
    expect_sound(load_scene(folder.string(), {}));
  });
}

TEST_F(Fuzz, Pngs) {
  small_scene(folder);
  const std::string file = read(folder / "v0.png");
  broken_inputs([&](Mutator& m) {
    const fs::path at = write("x.png", m.png(file));
    const ImageSize size = image_size(at);
    if (int64_t(size.width) * size.height > 4'000'000) throw std::runtime_error("left out, for time");
    const Image image = load_image(at);
    ASSERT_EQ(image.rgba.size(), size_t(image.width) * size_t(image.height) * 4);
  });
}

std::string small_jpeg() {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = jpeg.image_height = 16;
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 50, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<uint8_t> row(48);
  for (int y = 0; y < 16; ++y) {
    for (size_t k = 0; k < row.size(); ++k) row[k] = uint8_t(size_t(y) * 13 + k * 5);
    JSAMPROW line = row.data();
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string file(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&jpeg);
  std::free(bytes);
  return file;
}

TEST_F(Fuzz, Jpegs) {
  const std::string file = small_jpeg();
  broken_inputs([&](Mutator& m) {
    const fs::path at = write("x.jpg", m.bytes(file));
    const ImageSize size = image_size(at);
    if (int64_t(size.width) * size.height > 4'000'000) throw std::runtime_error("left out, for time");
    const Image image = load_image(at);
    ASSERT_EQ(image.rgba.size(), size_t(image.width) * size_t(image.height) * 4);
  });
}

Config tiny() {
  Config c;
  c.levels = 2;
  c.log2_table = 4;
  c.base_resolution = 2;
  c.finest_resolution = 8;
  c.width = 8;
  c.grid = 8;
  return c;
}

TEST_F(Fuzz, Models) {
  Model model(tiny(), {.cascades = 2, .scale = 0.3F, .offset = {0.5F, 0.5F, 0.5F}, .near = 0.1F});
  model.initialize(1);
  model.save(folder / "model.safetensors");
  const std::string file = read(folder / "model.safetensors");
  broken_inputs([&](Mutator& m) {
    const Model read = Model::load(write("x.safetensors", m.safetensors(file)));
    for (const Part part : kParts)
      for (const float v : read.of(part)) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST_F(Fuzz, Checkpoints) {
  Model model(tiny(), {});
  model.initialize(1);
  RunState state;
  state.scene = "/somewhere/\xFF/else";
  state.plan = {{"adam", "adam.cpu.01_naive"}};
  state.views = {3, 1, 16, 12};
  auto metadata = model.metadata();
  metadata.merge(to_metadata(state));
  metadata["trainer"] = json{{"step", 7}, {"seed", 1}, {"rays", 64}, {"averaged", 0.5}}.dump();
  save_tensors(folder / "checkpoint.safetensors", model.tensors(), metadata);
  const std::string file = read(folder / "checkpoint.safetensors");
  broken_inputs([&](Mutator& m) {
    const TensorFile checkpoint(write("x.safetensors", m.safetensors(file)));
    config_from_json(checkpoint.metadata("config"), "config");
    const RunState s = run_state_in(checkpoint);
    ASSERT_TRUE(std::isfinite(s.seconds) && std::isfinite(s.samples) && s.downscale >= 1);
    Model into(tiny(), {});
    read_model(checkpoint, into);
  });
}

TEST_F(Fuzz, Configs) {
  const json document = json::parse(config_to_json(Config()));
  broken_inputs([&](Mutator& m) {
    const Config c = read_config(write("config.json", m.json(document)));
    Config::fields(const_cast<Config&>(c), [](const char* name, auto& value, auto&&...) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
        ASSERT_TRUE(std::isfinite(value)) << name;
    });
  });
}

TEST_F(Fuzz, Plans) {
  const json document = {
      {"adam", "adam.cpu.01_naive"}, {"sh_fwd", "sh_fwd.cpu.01_naive"}, {"composite_loss_bwd", nullptr}};
  broken_inputs([&](Mutator& m) { plan_ids(write("plan.json", m.json(document)).string(), {}); });
}

TEST_F(Fuzz, Exports) {
  json document = {{"klab_export", kExportVersion},
                   {"name", "Ada"},
                   {"machine", {{"fingerprint", "0123"}}},
                   {"files", {{"01_vector_add/02.cpp", "int x;\n"}, {"03_transpose/03.cu", "int y;\n"}}},
                   {"progress", {{"steps", json::object()}}}};
  document["digest"] = digest_of_export(document);
  ASSERT_TRUE(read_export(document.dump(), "whole").intact);
  broken_inputs([&](Mutator& m) {
    const std::string text = m.json(document);
    const ExportFile e = read_export(text, "x.json");
    // What is taken for the original is the original.
    if (e.intact) ASSERT_EQ(json::parse(text)["files"], document["files"]);
  });
}

TEST_F(Fuzz, Rows) {
  const std::string text = to_csv(sample_run());
  broken_inputs([&](Mutator& m) {
    const Recording run = read_csv(write("rows.csv", m.table(text)).string(), true);
    for (const Row& row : run.rows)
      for (const double s : row.seconds) ASSERT_TRUE(std::isfinite(s) && s > 0);
  });
}

TEST_F(Fuzz, Metrics) {
  const std::string good =
      "step,seconds,loss,psnr_batch,rays,samples,marched,samples_per_second,occupied,memory\n"
      "1,0.1,0.5,10.25,64,4000,9000,1e5,0.75,1000000\n10,1.25,0.125,,640,4100,9100,2e5,0.5,\n";
  broken_inputs([&](Mutator& m) {
    for (const auto& [name, values] : read_metrics(write("metrics.csv", m.table(good))))
      for (const double v : values) ASSERT_FALSE(std::isinf(v)) << name;
  });
}

TEST_F(Fuzz, RecordedCounts) {
  const std::string text =
      "# compiled by GNU 12.2.0; recorded by klab counts --accept\nvariant,shape,place,access,metric,count\n"
      "transpose.cuda.01_naive,rows=64 cols=64,all,,calls,1\n"
      "transpose.cuda.01_naive,rows=64 cols=64,transpose.cuda.01_naive:21,load,sectors,512\n"
      "transpose.cuda.02_tile,rows=64 cols=64,all,,calls,1\n";
  broken_inputs([&](Mutator& m) { read_counts(write("counts.csv", m.table(text)), "transpose"); });
}

TEST_F(Fuzz, CountersOfAGpu) {
  const std::string text =
      "==PROF== Connected\n\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
      "\"0\",\"copy\",\"l1tex__t_requests.sum\",\"request\",\"1,024\"\n\"0\",\"copy\",\"l1tex__t_sectors."
      "sum\",\"\",\"4096\"\n";
  broken_inputs([&](Mutator& m) {
    for (const auto& [metric, value] : read_ncu(m.table(text), "ncu.csv"))
      ASSERT_TRUE(std::isfinite(value) && value >= 0);
  });
}

TEST_F(Fuzz, PlansOfSessions) {
  const SessionPlan plan{.tasks = {{.op = "matmul",
                                    .shape = {.name = "a", .shape = {4, 4, 4}, .cache = Cache::hot},
                                    .threads = 1,
                                    .variants = {"matmul.cpu.01_naive"}}}};
  const json document = json::parse(to_text(plan));
  broken_inputs([&](Mutator& m) { plan_from_text(m.json(document)); });
}

TEST_F(Fuzz, Gaussians) {
  save_ply(folder / "whole.ply", random_gaussians(5, 1, 1), {});
  const std::string file = read(folder / "whole.ply");
  broken_inputs([&](Mutator& m) {
    GaussianSet set = load_ply(write("x.ply", m.bytes(file)), {});
    ASSERT_GT(set.n, 0);
    for (const std::vector<float>* values : set.tensors())
      for (const float v : *values) ASSERT_TRUE(std::isfinite(v));
  });
}

}  // namespace
}  // namespace klab
