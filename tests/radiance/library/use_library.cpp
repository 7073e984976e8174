// klab::radiance as another project uses it, for test_library.sh. Includes nothing of klab but the library's header.
//
//   use_library train SCENE CONFIG FIELD STEPS MODEL    trains on one thread, writes the model, prints its score
//   use_library measured SCENE CONFIG STEPS MODEL       trains on one thread from measured depth, writes the model
//   use_library scene FOLDER                            writes a scene of small pictures around the origin
//   use_library errors FOLDER SCENE MODEL               prints what() | file() | field() | remedy() of each error that calls throw;
//                                                       files are written into FOLDER
#include <klab/radiance.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

using namespace klab::radiance;

namespace {

const SceneOptions small = {.downscale = 12, .holdout = 4, .seed = 3};

/// Integrates densities and colors over the ray of a pixel. Steps are finer than the renderer's, from whose pixel the result differs
/// by the error of those.
bool points_give_the_picture(Renderer& renderer) {
  const Point eye{1.6F, 0.5F, 1.2F}, target{0.5F, 0.5F, 0.4F};
  const Picture picture =
      renderer.render(look_at(eye, target, 33, 33, 30));  // the middle pixel sees the target
  Point along{target[0] - eye[0], target[1] - eye[1], target[2] - eye[2]};
  const float length = std::hypot(along[0], along[1], along[2]), step = 1.0F / 2048;
  std::vector<Point> points;
  for (float t = step / 2; t < 2.4F; t += step)
    points.push_back(
        {eye[0] + along[0] / length * t, eye[1] + along[1] / length * t, eye[2] + along[2] / length * t});
  const std::vector<float> density = renderer.density(points);
  const std::vector<Point> colors = renderer.colors(points, std::vector<Point>(points.size(), along));
  double light = 1, rgb[3] = {0, 0, 0};
  for (size_t i = 0; i < points.size(); ++i) {
    const double left = light * std::exp(-double(density[i]) * step);
    for (size_t c = 0; c < 3; ++c) rgb[c] += (light - left) * double(colors[i][c]);
    light = left;
  }
  const size_t middle = 33 * 16 + 16;
  bool same = std::abs(1 - light - double(picture.opacity[middle])) < 0.03 && light < 0.9;
  for (size_t c = 0; c < 3; ++c)  // the scene's background is white
    same = same && std::abs(rgb[c] + light - double(picture.rgb[3 * middle + c])) < 0.04;
  if (!same)
    std::fprintf(stderr, "integral %.4f: %.4f %.4f %.4f, pixel %.4f: %.4f %.4f %.4f\n", 1 - light,
                 rgb[0] + light, rgb[1] + light, rgb[2] + light, double(picture.opacity[middle]),
                 double(picture.rgb[3 * middle]), double(picture.rgb[3 * middle + 1]),
                 double(picture.rgb[3 * middle + 2]));
  return same && renderer.density({{0.5F, 0.5F, 7}})[0] == 0;
}

int train(char** argv) {
  const Scene scene = Scene::load(argv[0], small);
  const int64_t steps = std::atoll(argv[3]);
  Trainer trainer(scene, {.field = argv[2], .config = argv[1], .seed = 3, .rungs = "last", .threads = 1});
  int64_t reports = 0, last = 0;
  const auto report = [&](const Progress& now) {
    if (now.step != last + 1 || now.share > 1 || now.seconds <= 0) std::exit(3);
    last = now.step;
    ++reports;
    return now.step != steps / 2;  // interrupted once
  };
  const Progress half = trainer.train({.steps = steps, .report_seconds = 0}, report);
  const Progress end = trainer.train({.steps = steps, .report_seconds = 0}, report);
  if (half.step != steps / 2 || end.step != steps || reports != steps) return 4;
  trainer.field().save(argv[4]);
  Renderer renderer(Field::load(argv[4]), {.rungs = "last"});
  const Score score = renderer.score(scene);
  const Picture picture = renderer.render(scene.test_views().front().camera);
  if (picture.rgb.size() != size_t(3 * picture.width * picture.height)) return 5;
  if (trainer.field().kind() != "gaussians") {  // these have floats only
    Renderer narrow(trainer.field(), {.rungs = "last", .precision = "int8"});
    if (2 * narrow.bytes() > renderer.bytes() || std::abs(narrow.score(scene).psnr - score.psnr) > 0.5)
      return 7;
    if (!points_give_the_picture(renderer)) return 8;
  }
  std::printf("%s %zu %.6f %.6f\n", renderer.score(scene).views.front().name.c_str(), score.views.size(),
              score.psnr, score.ssim);
  return 0;
}

int train_with_depth(char** argv) {
  const Scene scene = Scene::load(argv[0], {.holdout = 4, .depth = true});
  Trainer trainer(scene, {.config = argv[1], .seed = 3, .rungs = "last", .threads = 1});
  trainer.train({.steps = std::atoll(argv[2])});
  trainer.field().save(argv[3]);
  return 0;
}

int write_scene(const std::string& folder) {
  constexpr int count = 6, width = 24, height = 18;
  std::ofstream file(folder + "/transforms.json");
  file << R"({"camera_angle_x": 0.7, "frames": [)";
  for (int i = 0; i < count; ++i) {
    Picture picture{.width = width, .height = height};
    for (int k = 0; k < 3 * width * height; ++k) picture.rgb.push_back(float(k * 37 % 256) / 255);
    const std::string name = "view_" + std::to_string(i) + ".png";
    picture.save_png(folder + "/" + name);
    const double angle = 2 * 3.14159265 * i / count, c = std::cos(angle), s = std::sin(angle);
    file << (i == 0 ? "" : ",") << R"({"file_path": ")" << name << R"(", "transform_matrix": [[)" << c
         << ",0," << s << "," << 4 * s << "],[0,1,0,0],[" << -s << ",0," << c << "," << 4 * c
         << "],[0,0,0,1]]}";
  }
  file << "]}";
  return file.good() ? 0 : 6;
}

void print_error(const char* name, const std::function<void()>& work) {
  try {
    work();
    std::printf("%s | accepted\n", name);
  } catch (const Error& e) {
    std::printf("%s | %s | %s | %s | %s\n", name, e.what(), e.file().c_str(), e.field().c_str(),
                e.remedy().c_str());
  }
}

int errors(const std::string& folder, const std::string& own_scene, const std::string& model) {
  const std::string missing = folder + "/nowhere";
  print_error("no scene", [&] { Scene::load(missing); });
  print_error("empty scene", [&] { Scene::load(folder); });
  print_error("downscale", [&] { Scene::built_in({.downscale = 0}); });
  const Scene scene = Scene::built_in({.downscale = 12, .holdout = 4});
  const auto config = [&](const std::string& text, const std::string& field = "hash") {
    std::ofstream(folder + "/config.json") << text;
    Trainer(scene, {.field = field, .config = folder + "/config.json", .rungs = "last"});
  };
  print_error("unknown setting", [&] { config(R"({"leraning_rate": 1})"); });
  print_error("other field's setting", [&] { config(R"({"log2_table": 12})", "voxels"); });
  print_error("range", [&] { config(R"({"levels": 99})"); });
  print_error("word", [&] { config(R"({"loss": "l3"})"); });
  print_error("rule", [&] { config(R"({"width": 20})"); });
  print_error("no JSON", [&] { config(R"({"levels": 4)"); });
  print_error("no config", [&] { Trainer(scene, {.config = missing}); });
  print_error("settings", [&] { Trainer(scene, {.settings = R"({"levles": 4})"}); });
  const auto with_depth = [&](const SceneOptions& options) {
    Trainer(Scene::load(own_scene, options), {.settings = R"({"depth_l1": 0.1})", .rungs = "last"});
  };
  print_error("depth not read", [&] { with_depth({.holdout = 0}); });
  print_error("no depth", [&] { with_depth({.holdout = 0, .depth = true}); });
  print_error("no such field", [&] { Trainer(scene, {.field = "cubes"}); });
  print_error("rungs", [&] { Trainer(scene, {.rungs = missing}); });
  print_error("no model", [&] { Field::load(missing); });
  const Scene all_for_training = Scene::load(own_scene, {.holdout = 0});
  print_error("no test views",
              [&] { Renderer(Field::load(model), {.rungs = "last"}).score(all_for_training); });
  print_error("camera", [&] { look_at({0, 0, 0}, {1, 1, 1}, 0, 64, 40); });
  print_error("picture", [&] { Picture().save_png(folder + "/none.png"); });
  print_error("precision", [&] { Renderer(Field::load(model), {.precision = "int9"}); });
  const Field gaussians =
      Trainer(scene, {.field = "gaussians", .settings = R"({"initial": 100})", .rungs = "last"}).field();
  print_error("floats only", [&] { Renderer(gaussians, {.precision = "bf16"}); });
  const Point p{0.5F, 0.5F, 0.5F};
  print_error("no density", [&] { Renderer(gaussians, {.rungs = "last"}).density({p}); });
  print_error("density of bits",
              [&] { Renderer(Field::load(model), {.rungs = "last", .precision = "int8"}).density({p}); });
  Renderer renderer(Field::load(model), {.rungs = "last"});
  print_error("point", [&] { renderer.density({p, {0, NAN, 0}}); });
  print_error("directions", [&] { renderer.colors({p, p}, {p}); });
  print_error("direction", [&] { renderer.colors({p}, {{0, 0, 0}}); });
  Trainer trainer(
      scene, {.settings = R"({"levels": 4, "log2_table": 10, "grid": 16, "width": 16})", .rungs = "last"});
  print_error("no budget", [&] { trainer.train({}); });
  print_error("where to save", [&] { trainer.field().save(missing + "/model.safetensors"); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 7 && std::string(argv[1]) == "train") return train(argv + 2);
  if (argc == 6 && std::string(argv[1]) == "measured") return train_with_depth(argv + 2);
  if (argc == 3 && std::string(argv[1]) == "scene") return write_scene(argv[2]);
  if (argc == 5 && std::string(argv[1]) == "errors") return errors(argv[2], argv[3], argv[4]);
  return 64;
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
