// klab render: writes pictures and depth maps of a model, from new views or from those of its scene.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "harness/cli/backend_option.h"
#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/gpu/gpu.h"
#include "harness/program/times_here.h"
#include "harness/records/atomic_file.h"
#include "harness/records/memory_left.h"
#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/evaluate/picture_queue.h"
#include "labs/radiance/evaluate/reuse.h"
#include "labs/radiance/ranks/ranks.h"
#include "labs/radiance/ranks/share_processor.h"
#include "labs/radiance/run/comparison.h"
#include "labs/radiance/run/default_plans.h"
#include "labs/radiance/run/evaluation.h"
#include "labs/radiance/run/film.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/inference.h"
#include "labs/radiance/run/named_model.h"
#include "labs/radiance/run/trained_on.h"
#include "labs/radiance/run/video.h"

namespace klab::render_command {
namespace {

namespace fs = std::filesystem;

struct RenderValues {
  std::string model, scene, mp4, saved_path, out = "render", plan = "best", backend = "cpu";
  std::string precision, batch, memory;
  SceneOptions reading;
  int view = -1, train_view = -1;
  int reuse = 0;  // pictures from one that is drawn whole to the next; 0: all are drawn whole
  FilmOptions film;
  bool depth = false, in_turn = false, default_plan = false;
};

// Near is white, far is black, and so are pixels that hit nothing, whose distance is 0.
std::vector<uint8_t> gray_of(const std::vector<float>& distances) {
  float low = INFINITY, high = 0;
  for (const float d : distances) {
    if (!(d > 0)) continue;
    low = std::min(low, d);
    high = std::max(high, d);
  }
  std::vector<uint8_t> out(distances.size(), 0);
  for (size_t i = 0; i < out.size(); ++i)
    if (distances[i] > 0) out[i] = to_byte(1 - 0.85F * (distances[i] - low) / std::max(high - low, 1e-6F));
  return out;
}

// The expected distance is that of what a pixel shows: by the share of light that is absorbed at all.
std::vector<uint8_t> depth_pixels(const Picture& p) {
  std::vector<float> distances(p.depth.size(), 0.0F);
  for (size_t i = 0; i < distances.size(); ++i)
    if (p.opacity[i] >= 0.5F) distances[i] = p.depth[i] / p.opacity[i];
  return gray_of(distances);
}

std::vector<uint8_t> median_pixels(const Picture& p) { return gray_of(p.median_depth); }

void save_picture(const RenderValues& v, const Picture& p, const fs::path& file) {
  std::vector<uint8_t> rgb(p.rgb.size());
  for (size_t i = 0; i < rgb.size(); ++i) rgb[i] = to_byte(p.rgb[i]);
  save_png(file, p.width, p.height, 3, rgb);
  if (!v.depth) return;
  const auto save_gray = [&](const char* what, const std::vector<uint8_t>& pixels) {
    fs::path beside = file;
    beside.replace_filename(file.stem().string() + what);
    save_png(beside, p.width, p.height, 1, pixels);
  };
  save_gray("_depth.png", depth_pixels(p));
  std::vector<uint8_t> opacity(p.opacity.size());
  std::ranges::transform(p.opacity, opacity.begin(), to_byte);
  save_gray("_opacity.png", opacity);
  if (!p.median_depth.empty()) save_gray("_median.png", median_pixels(p));
}

/// Makes a video of the pictures where ffmpeg is installed.
void write_film(const RenderValues& v, const fs::path& folder, const Film& film) {
  const fs::path file = v.mp4.empty() ? folder / (film.name + ".mp4") : fs::path(v.mp4);
  if (!has_ffmpeg()) {
    if (!v.mp4.empty())
      fmt::print("no video  ffmpeg is not installed: the pictures in {} make {} with it\n", folder.string(),
                 v.mp4);
    return;
  }
  try {
    write_video(folder, file, int(film.cameras.size()), film.frames_per_second);
    fmt::print("{}\n", file.string());
  } catch (const std::runtime_error& e) {
    if (!v.mp4.empty()) throw;
    fmt::print("no video  {}\n", e.what());  // nothing but pictures was asked for
  }
}

/// Writes the cameras of a film, in the world of the model's scene.
void save_path(const RenderValues& v, const fs::path& file, const Placement& placement, const Film& film) {
  std::optional<Scene> scene = world_of_model(file, v.scene, settings().seed);
  if (!scene) scene.emplace(), scene->scale = placement.scale, scene->offset = placement.offset;
  save_camera_path(v.saved_path, {film.cameras, film.frames_per_second}, *scene);
  fmt::print("{}\n", v.saved_path);
}

/// Loads the model, into the scene's box if it is a file of Gaussians that comes with one. Prints what their reader notes.
std::unique_ptr<FieldModel> load_model(const RenderValues& v, const fs::path& file) {
  const Storage precision = load_precision(v.precision, file);
  std::vector<std::string> notes;
  std::optional<Scene> scene;
  if (is_gaussian_file(file) && !v.scene.empty()) {
    scene = cameras_of_scene(v.scene, settings().seed);
    notes = scene->notes;
  }
  auto model = load_field_model(file, scene ? &*scene : nullptr, precision, &notes);
  if (Ranks::here().first())
    for (const std::string& note : notes) fmt::print("note      {}\n", note);
  return model;
}

/// Refuses what cannot be written, before pictures are made.
void require_outputs(const RenderValues& v) {
  if (!v.mp4.empty() && fs::path(v.mp4).extension() != ".mp4")
    throw std::invalid_argument(fmt::format("--mp4 {}: must end in .mp4", v.mp4));
  for (const std::string& file : {v.mp4, v.saved_path})
    if (!file.empty()) require_writable_file(file);
}

/// Whether a command draws one picture, which no queue makes faster.
bool one_picture(const RenderValues& v) {
  return v.view >= 0 || v.train_view >= 0 || (v.film.orbit <= 1 && v.film.path.empty());
}

/// Draws all pictures through one queue; after an allocation has failed, those that are left with smaller pieces.
void draw_queued(PiecewisePictures& pictures, const FieldModel& model, const Plan& plan,
                 const std::vector<Camera>& cameras, int workers,
                 const std::function<void(size_t, const Picture&)>& save) {
  std::vector<char> done(cameras.size(), 0);
  pictures.draw_all([&](int64_t pixels) {
    std::vector<size_t> places;
    std::vector<Camera> left;
    for (size_t i = 0; i < cameras.size(); ++i)
      if (done[i] == 0) places.push_back(i), left.push_back(cameras[i]);
    render_all(model, plan, left, {.workers = workers, .pixels = pixels},
               [&](size_t i, const Picture& picture) {
                 save(places[i], picture);
                 done[places[i]] = 1;
               });
  });
}

/// Draws a path of cameras that take over what an earlier one shows, and says how far pictures are from drawn ones. Returns the seconds
/// that went into these.
double draw_reusing(const RenderValues& v, const std::function<Picture(const Camera&)>& draw,
                    const std::vector<Camera>& cameras,
                    const std::function<void(size_t, const Picture&)>& save) {
  ReusedPictures pictures(draw, v.reuse);
  const size_t every = size_t(v.reuse), count = cameras.size();
  std::map<size_t, Picture> compared;  // the last before a whole one, at three places of the path
  for (const size_t place : {1U, 3U, 5U})
    if (const size_t i = std::min(count * place / 6 / every * every + every, count) - 1; i % every != 0)
      compared.try_emplace(i);
  for (size_t i = 0; i < count; ++i) {
    const Picture picture = pictures.next(cameras[i]);
    save(i, picture);
    if (const auto at = compared.find(i); at != compared.end()) at->second = picture;
  }
  fmt::print(
      "reuse     {:.1f} % of the pixels drawn, the others taken over; one picture in {} is drawn whole\n",
      100 * pictures.drawn_share(), v.reuse);
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& [i, picture] : compared)
    fmt::print("reuse     picture {} is {:.1f} dB from a drawn one\n", i,
               psnr(picture.rgb, draw(cameras[i]).rgb));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Draws a view that the field was trained on, and next to it what it was trained on.
void draw_train_view(const RenderValues& v, const std::function<Picture(const Camera&)>& draw, bool black) {
  const Scene scene = load_scene(v.scene, v.reading);
  if (v.train_view >= int(scene.train.size()))
    throw std::invalid_argument(
        fmt::format("--train-view {}: the scene has {} training views, counted from 0", v.train_view,
                    scene.train.size()));
  const View& view = scene.train[size_t(v.train_view)];
  const Picture picture = draw(view.camera);
  const fs::path file = fs::path(v.out) / fmt::format("train_{:04}.png", v.train_view),
                 both = fs::path(v.out) / fmt::format("train_{:04}_compared.png", v.train_view);
  save_picture(v, picture, file);
  save_comparison(both, view, picture, black);
  fmt::print("{}\n{}, the true picture to the right\n{}: PSNR {:.2f} dB on a view that it was trained on\n",
             file.string(), both.string(), view.name, psnr(picture.rgb, ground_truth(view, black)));
}

int render(const RenderValues& v) {
  require_outputs(v);
  if (v.reuse > 0 && one_picture(v))
    throw std::invalid_argument("--reuse shares work between pictures: give --orbit 120, or --path");
  if (v.reuse > 0 && Ranks::here().size() > 1)
    throw std::invalid_argument("--reuse follows a path in one process: leave it out, or start one process");
  const fs::path model_path = model_of_run(v.model);
  const auto loaded = load_model(v, model_path);
  if (v.depth || v.reuse > 0) loaded->ask_for_depth();
  const FieldModel& model = *loaded;
  const BackendChoice where = backend_named(v.backend);
  const OnGpu on_a_gpu(v.backend == "cuda");
  CallTimes times = times_here();
  if (v.default_plan) use_default_plan(times, model.field());
  Ranks& ranks = Ranks::here();
  const Plan plan = picture_plan_of_all(ranks, v.plan, model, where, times);
  if (ranks.first()) fmt::print("{}", held_text(model, plan));
  const int workers = omp_get_max_threads();
  const bool queued = where.ladder == "cpu" && !v.in_turn && v.reuse == 0 && !one_picture(v);
  PieceOptions pieces = piece_options(v.batch, v.memory);
  if (queued) pieces.memory /= workers;  // each draws pieces of its own
  PiecewisePictures pictures(model, plan, where, pieces, [&](const std::string& text) {
    if (ranks.first()) fmt::print("{}\n", text);
  });
  const auto picture_of = [&](const Camera& camera) { return pictures.draw(camera); };
  const fs::path folder = v.out;
  make_folder(folder);
  if (v.train_view >= 0) {
    if (ranks.first()) draw_train_view(v, picture_of, model.placement().black);
    return exit_ok;
  }
  if (v.view >= 0) {
    if (!ranks.first()) return exit_ok;  // one picture is made by one process
    const Scene scene = load_scene(v.scene, v.reading);
    if (v.view >= int(scene.test.size()))
      throw std::invalid_argument(
          fmt::format("--view {}: the scene has {} test views, counted from 0", v.view, scene.test.size()));
    const fs::path file = folder / fmt::format("view_{:04}.png", v.view);
    save_picture(v, picture_of(scene.test[size_t(v.view)].camera), file);
    fmt::print("{}\n", file.string());
    return exit_ok;
  }
  const Film film = film_of(v.film, [&] { return world_of_model(model_path, v.scene, settings().seed); });
  if (ranks.first() && !film.said.empty()) fmt::print("{}\n", film.said);
  if (ranks.first() && !v.saved_path.empty()) save_path(v, model_path, model.placement(), film);
  const int frames = int(film.cameras.size());
  std::vector<Camera> cameras;
  for (int i = ranks.rank(); i < frames; i += ranks.size())
    cameras.push_back(film.cameras[size_t(i)]);  // in turns
  const auto begin = std::chrono::steady_clock::now();
  const auto save = [&](size_t i, const Picture& picture) {
    const fs::path file = folder / fmt::format("frame_{:04}.png", ranks.rank() + int64_t(i) * ranks.size());
    save_picture(v, picture, file);
    fmt::print("{}\n", file.string());
  };
  // A queue of whole pictures needs one for each thread.
  const bool in_turn = !queued || frames == 1 || (model.as_hash() == nullptr && frames < workers);
  double compared = 0;
  if (v.reuse > 0)
    compared = draw_reusing(v, picture_of, cameras, save);
  else if (in_turn)
    for (size_t i = 0; i < cameras.size(); ++i) save(i, picture_of(cameras[i]));
  else if (!cameras.empty())
    draw_queued(pictures, model, plan, cameras, workers, save);
  ranks.wait_for_all();
  if (!ranks.first()) return exit_ok;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() - compared;
  if (frames > 1)
    fmt::print("{} frames in {:.2f} s, {:.2f} frames/s, written {}\n", frames, seconds, frames / seconds,
               in_turn ? "one after the other" : "through one queue");
  fmt::print("memory    {:.1f} MB at most\n", double(peak_memory()) * 1e-6);
  if (frames > 1 || !v.mp4.empty()) write_film(v, folder, film);
  return exit_ok;
}

std::function<int()> setup_render(CLI::App& app) {
  auto v = std::make_shared<RenderValues>();
  app.add_option("model", v->model,
                 "model.safetensors, the folder of a run, a snapshot of instant-ngp (.ingp), or Gaussians as "
                 ".ply, .splat, .spz or .sog")
      ->required();
  app.add_option("--out", v->out, "folder for the pictures");
  auto* orbit =
      add_number(app, "--orbit", v->film.orbit, range::frames,
                 "pictures around the scene, or along its cameras where they do not stand around it (mp4 too "
                 "where ffmpeg is installed)");
  auto* path = app.add_option(
      "--path", v->film.path,
      "circle, cameras (along those of the scene), or a camera path of nerfstudio's viewer, a JSON");
  auto* mp4 = app.add_option("--mp4", v->mp4,
                             "the video's name (default: in --out; without ffmpeg only pictures are made)");
  auto* saved = app.add_option("--save-path", v->saved_path, "write the cameras as a JSON that --path reads");
  auto* view = add_number(app, "--view", v->view, range::view, "this test view of --scene");
  auto* train_view =
      add_number(app, "--train-view", v->train_view, range::view,
                 "this training view of --scene, and another picture with the true one next to it");
  app.add_option("--scene", v->scene,
                 "the scene whose views or cameras are meant (for --path: that of the run)");
  auto* downscale =
      add_number(app, "--downscale", v->reading.downscale, range::downscale, "of the scene's pictures");
  auto* holdout = add_number(app, "--holdout", v->reading.holdout, range::holdout, "as in training");
  // A view of the scene has a camera of its own.
  for (CLI::Option* of_scene : {view, train_view})
    of_scene->needs("--scene")->excludes(orbit)->excludes(path)->excludes(mp4)->excludes(saved);
  view->excludes(train_view);
  auto* size = add_number(app, "--size", v->film.size, range::side_pixels, "pixels of the longer side");
  auto* height =
      add_number(app, "--height", v->film.height, range::elevation, "of the camera: sine of its elevation");
  auto* distance = add_number(app, "--distance", v->film.distance, range::distance,
                              "from the center, in sides of the unit cube");
  auto* fov = add_number(app, "--fov", v->film.fov, range::degrees, "horizontal field of view, degrees");
  for (CLI::Option* of_scene : {view, train_view})
    for (CLI::Option* own : {size, height, distance, fov}) of_scene->excludes(own);
  app.add_option("--plan", v->plan, "best, last, naive, or a JSON file (default as of klab train)");
  add_backend(app, v->backend);
  app.add_option("--precision", v->precision, kPrecisionHelp);
  app.add_option("--batch", v->batch, kBatchHelp);
  app.add_option("--memory", v->memory, kMemoryHelp);
  auto* in_turn = app.add_flag("--in-turn", v->in_turn,
                               "--orbit, --path: one frame after the other, not through one queue");
  constexpr Range kEvery{2, 1000};
  auto* reuse = app.add_option(
      "--reuse", v->reuse,
      "--orbit, --path: draw every 8th picture whole, or every N-th, and of the others only what that one "
      "does not show");
  reuse->expected(0, 1)->default_str("8")->option_text("[N]");
  reuse->check(number_within<int>(kEvery));
  auto* depth =
      app.add_flag("--depth", v->depth,
                   "write the expected depth and the opacity too, of Gaussians also the median depth");
  reuse->excludes(depth)->excludes(in_turn);  // pictures between have no depth
  return [v, size, downscale, holdout, view, train_view, &app] {
    for (const CLI::Option* of_scene : {downscale, holdout})
      if (of_scene->count() > 0 && view->count() + train_view->count() == 0)
        throw std::invalid_argument(of_scene->get_name() +
                                    " is for a view of the scene: give --view N or --train-view N");
    v->film.sized = size->count() > 0;
    v->default_plan = app.count("--plan") == 0;
    share_processor(Ranks::here(), settings().threads);
    return Ranks::here().run([&] { return render(*v); });
  };
}

KLAB_COMMAND({.name = "render",
              .summary = "Pictures, depth maps and turntables of a model",
              .setup = setup_render});

}  // namespace
}  // namespace klab::render_command
