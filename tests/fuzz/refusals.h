// Broken scenes, COLMAP models, .ply files and JSON: a refusal names the file, the field and the remedy.
#pragma once

#include "harness/program/plan.h"
#include "harness/records/refused.h"
#include "labs/radiance/field/config.h"
#include "labs/radiance/field/packed_tree.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/scene/camera_path.h"
#include "labs/radiance/splat/splat_file.h"
#include "labs/radiance/splat/webp_picture.h"
#include "tests/fuzz/fuzz_fixture.h"
#include "tests/fuzz/small_scenes.h"

namespace klab {

/// Text and binary files of points and Gaussians with lists and other elements.
inline std::vector<std::string> rich_plys() {
  const std::string
      head = "element camera 1\nproperty double focal\nproperty list uchar int size\nelement vertex 2\n",
      place = "property float x\nproperty float y\nproperty float z\n",
      behind =
          "property list uchar int views\nelement face 1\nproperty list uchar int "
          "vertex_indices\nend_header\n";
  Binary body;
  body.add(7.5).add(uint8_t(2)).add(1).add(2);
  for (int i = 0; i < 2; ++i)
    body.add(0.5F).add(0.25F).add(float(i)).add(uint8_t(i)).bytes.append(size_t(4 * i), 'v');
  body.add(uint8_t(3)).add(0).add(1).add(0);
  std::vector<std::string> files = {
      "ply\nformat binary_little_endian 1.0\n" + head + place + behind + body.bytes,
      "ply\nformat ascii 1.0\n" + head + place + behind +
          "7.5 2 1 2\n0.5 0.25 0 0\n0.5 0.25 1 1 9\n3 0 1 0\n"};
  std::string big = "ply\nformat binary_big_endian 1.0\nelement vertex 1\n" + place + "end_header\n";
  files.push_back(big + std::string("\x3f\0\0\0\x3e\x80\0\0\xbf\x80\0\0", 12));
  return files;
}

inline json small_camera_path() {
  json path = {{"render_width", 32}, {"render_height", 24}, {"fps", 24}, {"camera_path", json::array()}};
  for (int i = 0; i < 3; ++i)
    path["camera_path"].push_back(
        {{"camera_to_world", {1, 0, 0, 0.1 * i, 0, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1}}, {"fov", 50}});
  return path;
}

class Refusals : public Fuzz {
 protected:
  using Kind = std::function<void(Mutator&)>;

  void SetUp() override {
    Fuzz::SetUp();
    const json ngp = small_scene(folder), nerfstudio = nerfstudio_scene(folder), path = small_camera_path();
    kinds_.push_back([=, this](Mutator& m) { load_changed("transforms.json", m.json(ngp)); });
    kinds_.push_back([=, this](Mutator& m) { load_changed("transforms.json", m.json(nerfstudio)); });
    kinds_.push_back([=, this](Mutator& m) { read_camera_path(write("path.json", m.json(path)), Scene{}); });
    const WrittenModel model = small_colmap(folder);
    for (const bool binary : {false, true}) {
      const fs::path at = folder / (binary ? "binary" : "text");
      (binary ? write_colmap_binary : write_colmap_text)(at / "sparse", model);
      fs::create_directories(at / "images");
      for (const WrittenImage& image : model.images)
        fs::copy(folder / image.name, at / "images" / image.name);
      std::vector<std::string> names, files;
      for (const char* name : {"cameras", "images", "points3D"}) {
        names.push_back(name + std::string(binary ? ".bin" : ".txt"));
        files.push_back(read(at / "sparse" / names.back()));
      }
      kinds_.push_back([=](Mutator& m) {
        const size_t broken = m.below(3);
        for (size_t k = 0; k < 3; ++k)
          write_text(at / "sparse" / names[k], k == broken ? m.bytes(files[k]) : files[k]);
        load_scene(at.string(), {});
      });
    }
    std::vector<std::string> clouds = rich_plys();
    const auto [little, text] = small_clouds();
    clouds.push_back(little), clouds.push_back(text);
    kinds_.push_back(
        [=, this](Mutator& m) { read_point_cloud(write("x.ply", m.bytes(clouds[m.below(clouds.size())]))); });
    Config config;
    config.levels = 1, config.log2_table = 4, config.width = config.grid = 8;
    Model field(config, {});
    field.initialize(1);
    save_snapshot(folder / "whole.ingp", field, {});
    json snapshot = read_packed_tree(folder / "whole.ingp");
    snapshot["snapshot"]["density_grid_binary"] = json::binary({});
    kinds_.push_back([=, this](Mutator& m) {
      write_packed_tree(folder / "y.ingp", m.tree(snapshot));
      load_snapshot(folder / "y.ingp");
    });
    const json settings = json::parse(config_to_json(config)), plan = {{"sh_fwd", "sh_fwd.cpu.01_naive"}};
    kinds_.push_back([=](Mutator& m) { config_from_json(m.json(settings), "x.json"); });
    kinds_.push_back([=](Mutator& m) { plan_from_json(m.json(plan), "plan x.json"); });
    const Placement placement;
    save_gaussians(folder / "whole.ply", random_gaussians(5, 1, 1), {}, &placement);
    save_splat(folder / "whole.splat", random_gaussians(5, 0, 1), {});
    save_gaussians(folder / "whole.spz", random_gaussians(5, 1, 1), {});
    std::vector<std::string> endings = {".ply", ".splat", ".spz"};
    if (has_webp())
      save_gaussians(folder / "whole.sog", random_gaussians(5, 1, 1), {}), endings.emplace_back(".sog");
    for (const std::string& ending : endings) {
      const std::string whole = read(folder / ("whole" + ending));
      kinds_.push_back([=, this](Mutator& m) { load_gaussians(write("y" + ending, m.bytes(whole)), {}); });
    }
  }

  /// Reads that many broken inputs, of one kind after the other. Counts refusals that lack file, field or remedy: none may.
  void expect_complete(int inputs) {
    int refused = 0, incomplete = 0;
    std::string first;
    for (int i = 0; i < inputs; ++i) {
      Mutator mutator(uint64_t(i) + 77);
      const std::clock_t begin = std::clock();
      try {
        kinds_[size_t(i) % kinds_.size()](mutator);
        continue;
      } catch (const Refused& e) {
        ++refused;
        if (e.complete()) continue;
        if (incomplete++ == 0) first = fmt::format("input {}: {} (field '{}')", i, e.what(), e.field());
      } catch (const std::exception& e) {
        ++refused;
        if (incomplete++ == 0) first = fmt::format("input {}, no Refused: {}", i, e.what());
      }
      EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 20) << "input " << i;
    }
    EXPECT_EQ(incomplete, 0) << "of " << refused << " refusals; the first: " << first;
    EXPECT_GT(refused, inputs / 4) << "inputs are hardly broken";
    EXPECT_LT(refused, inputs) << "nothing is read";
  }

 private:
  void load_changed(const std::string& name, const std::string& text) const {
    write(name, text);
    load_scene((folder / name).string(), {});
  }
  std::vector<Kind> kinds_;
};

}  // namespace klab
