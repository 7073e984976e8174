// klab scene: shows how a scene was read, before anything is trained on it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/number_option.h"
#include "harness/records/atomic_file.h"
#include "harness/records/json_schema.h"
#include "labs/radiance/run/reading.h"
#include "labs/radiance/scene/save_scene.h"
#include "labs/radiance/scene/scene_picture.h"

namespace klab::scene_command {
namespace {

struct Values {
  std::string scene, out, save;
  SceneOptions reading;
  bool json = false, pictures = false;
};

/// "1080x1920 (50), 1920x1080 (2)".
std::string sizes_text(const Scene& scene) {
  std::map<std::pair<int, int>, int> sizes;
  for (const auto* set : {&scene.train, &scene.test})
    for (const View& view : *set) ++sizes[{view.camera.width, view.camera.height}];
  std::string text;
  for (const auto& [size, count] : sizes)
    text += fmt::format("{}{}x{} ({})", text.empty() ? "" : ", ", size.first, size.second, count);
  return text;
}

std::string names_text(const std::vector<View>& views) {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(views.size(), kShown); ++i) text += (i > 0 ? ", " : "") + views[i].name;
  if (views.size() > kShown) text += fmt::format(" and {} more", views.size() - kShown);
  return text.empty() ? "none" : text;
}

/// Returns the share of the points within the box.
double within_box(const Scene& scene) {
  const float half = 0.5F * scene.side();
  const auto in = std::ranges::count_if(scene.points, [&](const ScenePoint& p) {
    const Vec3 d = p.position - Vec3{0.5F, 0.5F, 0.5F};
    return std::max({std::abs(d.x), std::abs(d.y), std::abs(d.z)}) <= half;
  });
  return double(in) / double(scene.points.size());
}

/// Returns the largest distance from a camera to a corner of the box, in grid units: no ray leaves the box
/// behind it.
float far_of(const Scene& scene) {
  float far = 0;
  const float half = 0.5F * scene.side();
  for (const auto* set : {&scene.train, &scene.test})
    for (const View& view : *set) {
      const Vec3 d = view.camera.position() - Vec3{0.5F, 0.5F, 0.5F};
      far = std::max(far, length({std::abs(d.x) + half, std::abs(d.y) + half, std::abs(d.z) + half}));
    }
  return far;
}

void print_turn(const Scene& scene) {
  const Scene none;
  fmt::print("grid      {:.6g} x {} + ({:.4g}, {:.4g}, {:.4g}){}\n", scene.scale,
             scene.far_away() ? "(world - " + position_text(scene.origin) + ")" : "world", scene.offset.x,
             scene.offset.y, scene.offset.z,
             scene.turn == none.turn ? "" : ", world turned so that the cameras' up is +z:");
  if (scene.turn == none.turn) return;
  for (size_t r = 0; r < 9; r += 3)
    fmt::print("          {:9.5f} {:9.5f} {:9.5f}\n", scene.turn[r], scene.turn[r + 1], scene.turn[r + 2]);
}

/// Prints details beyond those that load_scene() has printed.
void print(const Scene& scene) {
  for (const std::string& lens : scene.lenses) fmt::print("camera    {}\n", lens);
  fmt::print("sizes     {}\n", sizes_text(scene));
  fmt::print("held out  {}\n", names_text(scene.test));
  print_turn(scene);
  fmt::print("rays      from {:.3g} (near) to {:.3g} (far, the box's last corner) in the file's units\n",
             scene.near / scene.scale, far_of(scene) / scene.scale);
  if (!scene.points.empty())
    fmt::print("points    {:.1f} % of them within the box\n", 100 * within_box(scene));
  fmt::print("masks     {}\n", scene.masks == 0 ? "none" : fmt::format("of {} views", scene.masks));
  for (const std::string& note : scene.notes) fmt::print("note      {}\n", note);
}

nlohmann::json to_json(const Scene& scene) {
  nlohmann::json out = {
      {"name", scene.name},          {"format", scene.format},
      {"train", scene.train.size()}, {"test", scene.test.size()},
      {"cameras", scene.lenses},     {"points", scene.points.size()},
      {"masks", scene.masks},        {"scale", scene.scale},
      {"turn", scene.turn},          {"offset", {scene.offset.x, scene.offset.y, scene.offset.z}},
      {"origin", scene.origin},      {"side", scene.side()},
      {"near", scene.near},          {"far", far_of(scene)},
      {"notes", scene.notes}};
  for (const View& view : scene.test) out["held_out"].push_back(view.name);
  return out;
}

/// Writes the scene as a folder, for trainings that need the same scene with several seeds, and for other programs.
void save_built_in(const Values& v) {
  std::filesystem::create_directories(v.save);
  save_scene(v.save, built_in_scene({.downscale = v.reading.downscale, .seed = settings().seed}));
  if (!v.json) fmt::print("saved     {}\n", v.save);
}

int show(Values& v) {
  if (!v.save.empty() && v.scene != "built-in")
    throw std::invalid_argument("--save " + v.save + ": writes the built-in scene, and " + v.scene +
                                " is a scene of files already; leave it out");
  if (!v.out.empty()) require_writable_file(v.out);
  v.reading.seed = settings().seed;
  v.reading.pictures = v.pictures ? SceneOptions::Pictures::decoded : SceneOptions::Pictures::none;
  if (!v.json) v.reading.say = [](const std::string& text) { fmt::print("{}\n", text); };
  const Scene scene = load_scene_visibly(v.scene, v.reading);
  if (v.json)
    fmt::print(
        "{}\n",
        with_schema("scene", to_json(scene)).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    print(scene);
  if (!v.save.empty()) save_built_in(v);
  if (v.out.empty()) return exit_ok;
  const Image picture = scene_picture(scene);
  save_png(v.out, picture.width, picture.height, 4, picture.rgba);
  if (!v.json) fmt::print("written   {}\n", v.out);
  return exit_ok;
}

std::function<int()> setup(CLI::App& app) {
  auto v = std::make_shared<Values>();
  app.add_option("scene", v->scene, "a scene's folder, a transforms JSON, or built-in")->required();
  app.add_option("--out", v->out, "a PNG of cameras, points and box");
  app.add_option("--save", v->save, "write the built-in scene into this folder, in Blender's form");
  add_number(app, "--downscale", v->reading.downscale, range::downscale, "as in training");
  add_number(app, "--holdout", v->reading.holdout, range::holdout, "as in training");
  app.add_flag("--pictures", v->pictures, "decode all pictures and masks too, and count what they leave out");
  add_json(app, v->json, {{"scene", ""}}, "print what was understood as JSON");
  return [v] { return show(*v); };
}

KLAB_COMMAND({.name = "scene",
              .summary = "What is understood of a scene: cameras, lenses, points, box; and a picture of them",
              .setup = setup});

}  // namespace
}  // namespace klab::scene_command
