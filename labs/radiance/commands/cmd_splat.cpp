// klab splat: trains Gaussians on a scene and evaluates them on the views that were held out.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/cli/backend_option.h"
#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/number_option.h"
#include "harness/core/bytes.h"
#include "harness/program/carried_backend.h"
#include "harness/program/times_here.h"
#include "harness/records/atomic_file.h"
#include "harness/records/json_schema.h"
#include "harness/records/memory_left.h"
#include "harness/report/table.h"
#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/run/default_plans.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/presets.h"
#include "labs/radiance/run/reading.h"
#include "labs/radiance/run/settings_matrix.h"
#include "labs/radiance/run/stop.h"
#include "labs/radiance/splat/splat_file.h"
#include "labs/radiance/splat/start_points.h"
#include "labs/radiance/splat/trainer.h"
#include "labs/radiance/train/backends.h"

namespace klab::splat_command {
namespace {

using Clock = std::chrono::steady_clock;

struct Values {
  std::string scene, out, exported, start, pictures, plan = "best", backend = "cpu", preset;
  std::vector<std::string> set;
  SceneOptions reading;
  GaussianConfig given;  // what options say
  bool relocate = false;
  SplatOptions splat;
  double seconds = 60, save_every = 60;
  int64_t steps = 0;
  bool json = false, default_plan = false;
};

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// States the memory of a training with the most Gaussians, and requires it: parameters, gradients, two moments and a count, and
/// the arrays of a view.
void require_room(const Values& v, const Image& picture) {
  const int64_t most = v.splat.density.most, each = GaussianSet::zeros(1, v.splat.degree).bytes();
  const int64_t bytes = most * (5 * each + 300) + int64_t(picture.width) * picture.height * 80;
  const std::string what = fmt::format("training {} Gaussians of degree {}", most, v.splat.degree);
  if (!v.json) fmt::print("memory    at most {} for {}, besides the pictures\n", bytes_text(bytes), what);
  require_memory(bytes, what, "give --most or --degree a lower number");
}

/// Returns the bytes that a device holds at most at a time: those of the call with the largest tensors. Four tiles a Gaussian
/// are more than scenes have.
int64_t device_bytes(int64_t gaussians, int degree, const Image& picture) {
  constexpr int64_t kTiles = 4, kOfAGaussian = 40;
  return gaussians * (2 * GaussianSet::zeros(1, degree).bytes() + kTiles * 4 + 4 * kOfAGaussian) +
         int64_t(picture.width) * picture.height * 40;
}

int64_t device_bytes(const SplatOptions& options, const Image& picture) {
  return device_bytes(options.density.most, options.degree, picture);
}

/// Returns how many Gaussians the device has room for.
int64_t device_fits(const Backend& device, const SplatOptions& options, const Image& picture) {
  if (!device.available) return options.density.most;
  const int64_t empty = device_bytes(0, options.degree, picture);
  const int64_t each = device_bytes(1, options.degree, picture) - empty;
  return std::max<int64_t>(0, (device.available() - empty) / each);
}

void save_picture(const std::string& folder, const View& view, const Picture& picture) {
  std::vector<uint8_t> pixels(picture.rgb.size());
  std::transform(picture.rgb.begin(), picture.rgb.end(), pixels.begin(), to_byte);
  const std::string name = std::filesystem::path(view.name).stem().string() + ".png";
  save_png(std::filesystem::path(folder) / name, picture.width, picture.height, 3, pixels);
}

void save(const Values& v, const GaussianSet& set, const Scene& scene, bool black) {
  const Placement placement{scene.cascades, scene.scale, scene.offset, scene.near, black};
  for (const std::string& file : {v.out, v.exported})
    if (!file.empty()) save_gaussians(file, set, place_of(scene), &placement);
}

/// Returns the Gaussians to start from: from a file, or from the scene's points, the default if there are
/// any. Returns nothing to start at random places. Puts the choice into `said`.
std::optional<GaussianSet> start_of(const Values& v, Scene& scene, std::string& said) {
  const bool by_default = v.start.empty() && !scene.points.empty();
  if (v.start == "random" || (v.start.empty() && !by_default)) {
    said = fmt::format("{} Gaussians at random places", v.splat.initial);
    return std::nullopt;
  }
  if (v.start != "points" && !by_default) {
    GaussianSet set = load_gaussians(v.start, place_of(scene), &scene.notes);
    said = fmt::format("the {} Gaussians of {}", set.n, v.start);
    return set;
  }
  if (scene.points.empty())
    throw std::runtime_error(v.scene + ": has no points to begin with: use --start random");
  const int64_t most = v.splat.density.budget > 0 ? v.splat.density.budget : v.splat.density.most;
  GaussianSet set = gaussians_from_points(scene.points, most, v.splat.degree, settings().seed);
  said = fmt::format("{} Gaussians at {} of the scene's {} points", set.n,
                     set.n < int64_t(scene.points.size()) ? "some" : "all", scene.points.size());
  return set;
}

/// Chooses the settings: those of options, then those of --set, then the preset's, then the recipe's.
void choose_settings(const CLI::App& app, Values& v) {
  const auto given = [&](const char* option) { return app.count(option) > 0; };
  std::string text;
  if (given("--preset")) {
    const Preset& preset = preset_named(v.preset);
    text = with_preset(preset, "gaussians", v.backend, "", "--set", v.set);
    if (!given("--seconds") && !given("--steps")) v.seconds = preset.seconds;
    if (!v.json) fmt::print("{}", preset_text(preset, "gaussians", v.backend));
  } else if (!v.set.empty()) {
    text = with_values("", "--set", v.set);
  }
  GaussianConfig config =
      text.empty() ? GaussianConfig() : field_settings("gaussians", text, "--set").gaussians;
  const auto take = [&](const char* option, auto GaussianConfig::*field) {
    if (given(option)) config.*field = v.given.*field;
  };
  take("--initial", &GaussianConfig::initial), take("--most", &GaussianConfig::most);
  take("--budget", &GaussianConfig::budget), take("--degree", &GaussianConfig::sh_degree);
  take("--ssim", &GaussianConfig::ssim), take("--background", &GaussianConfig::background);
  v.splat = splat_options(config);
  v.splat.initial = config.initial;  // more than --most raise that
  v.splat.density.relocate = v.relocate;
}

/// Says which file holds what was learned when a training fails: the Gaussians are in the host's memory, whatever happened to
/// a GPU.
[[noreturn]] void fail_with_what_is_left(const Values& v, const SplatTrainer& trainer, const Scene& scene,
                                         const std::string& why) {
  if (v.out.empty() || trainer.steps_done() == 0) throw std::runtime_error(why);
  save(v, trainer.set(), scene, trainer.black());
  throw std::runtime_error(fmt::format("{}; {} holds the Gaussians after {} steps: continue with --start {}",
                                       why, v.out, trainer.steps_done(), v.out));
}

/// Trains until the time is over, the steps are done, or a signal asks for an end. Returns the seconds that
/// it took.
double train(Values& v, SplatTrainer& trainer, const Scene& scene) {
  const auto begin = Clock::now();
  Progress progress;
  double shown = 0, saved = 0;
  while (!stop_requested) {
    const double elapsed = since(begin);
    const double done = v.steps > 0 ? double(trainer.steps_done()) / double(v.steps) : elapsed / v.seconds;
    if (done >= 1) break;
    try {
      trainer.step(done);
    } catch (const NotFinite&) {
      throw;  // what is left is not worth keeping
    } catch (const std::runtime_error& e) {
      fail_with_what_is_left(v, trainer, scene, e.what());
    }
    step_took(since(begin) - elapsed);
    if (elapsed - shown > 1) {
      shown = elapsed;
      progress.show(
          fmt::format("step {}  {:.0f} s  {} Gaussians  loss {:.4f}  view PSNR {:.2f} dB  {:.1f} ms a step",
                      trainer.steps_done(), elapsed, trainer.set().n, trainer.last_loss(),
                      trainer.last_psnr(), 1e3 * elapsed / double(trainer.steps_done())));
    }
    if (elapsed - saved > v.save_every) {
      saved = elapsed;
      save(v, trainer.set(), scene, trainer.black());
    }
  }
  progress.clear();
  if (stop_requested) stop_heeded();
  return since(begin);
}

std::string stages_text(const Profile& profile) {
  std::vector<std::pair<double, std::string>> stages;
  for (const auto& [name, seconds] : profile.seconds()) stages.emplace_back(seconds, name);
  std::sort(stages.rbegin(), stages.rend());
  std::string text;
  for (const auto& [seconds, name] : stages)
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name, 100 * seconds / profile.total());
  return text;
}

int splat(Values& v) {
  for (const std::string& file : {v.out, v.exported})
    if (!file.empty()) require_writable_file(file);
  if (!v.pictures.empty()) make_folder(v.pictures);
  v.reading.seed = settings().seed;
  v.reading.pinhole = true;  // rasterization needs pinhole pictures
  if (!v.json) v.reading.say = [](const std::string& text) { fmt::print("{}\n", text); };
  Scene scene = load_scene_visibly(v.scene, v.reading);
  if (scene.train.empty()) throw std::runtime_error(v.scene + ": has no view to train on");
  std::string begins;
  std::optional<GaussianSet> start = start_of(v, scene, begins);
  if (!v.json) {
    for (const std::string& note : scene.notes) fmt::print("note      {}\n", note);
    fmt::print("start     {}\n", begins);
  }
  if (start) {
    v.splat.degree = start->degree;
    v.splat.antialiased = v.splat.antialiased || start->antialiased;
  }
  if (v.splat.density.relocate) {
    if (v.splat.density.budget == 0) v.splat.density.budget = v.splat.density.most;
    v.splat.density_until = 25.0 / 30;  // of the paper's steps
  }
  v.splat.density.most =
      std::max({v.splat.density.most, v.splat.density.budget, start ? start->n : v.splat.initial});
  const Image& first = scene.train.front().image;
  require_room(v, first);
  const auto calls =
      splat_training_calls(start ? start->n : v.splat.initial, v.splat.degree, first.width, first.height,
                           {.antialiased = v.splat.antialiased, .pull = v.splat.density.absolute});
  const BackendChoice place = backend_named(v.backend);
  const Backend backend = carried_backend(place.backend);
  klab::require_room(place.backend, device_bytes(v.splat, first), "training",
                     fmt::format("lower --most or --budget; {} Gaussians would fit",
                                 device_fits(place.backend, v.splat, first)));
  CallTimes times = times_here();
  if (v.default_plan) use_default_plan(times, "gaussians");
  const Plan plan = Plan::named(v.plan, calls, times, place.ladder);
  if (!v.json) fmt::print("{}", plan.text());
  const StopSignals signals;
  SplatTrainer trainer(scene, v.splat, plan, settings().seed, std::move(start), backend);
  const double seconds = train(v, trainer, scene);
  save(v, trainer.set(), scene, trainer.black());
  const GaussianSet& set = trainer.set();
  const double each = seconds / double(std::max<int64_t>(trainer.steps_done(), 1));
  if (!v.json)
    fmt::print("trained   {} steps in {:.1f} s, {:.1f} ms each; {} Gaussians, {:.1f} MB\nstages    {}\n",
               trainer.steps_done(), seconds, 1e3 * each, set.n, double(set.bytes()) * 1e-6,
               stages_text(trainer.painter().profile()));
  nlohmann::json result = {{"steps", trainer.steps_done()},
                           {"seconds", seconds},
                           {"gaussians", set.n},
                           {"bytes", set.bytes()},
                           {"ms_a_step", 1e3 * each}};
  if (!scene.test.empty()) {
    Painter painter(plan, backend);
    const float level = trainer.black() ? 0.0F : 1.0F, background[3] = {level, level, level};
    const auto render = [&](const Camera& camera) {
      painter.draw(set, set.degree, camera, background);
      return painter.picture();
    };
    const auto keep = [&](const View& view, const Picture& picture, const ViewScore&) {
      if (!v.pictures.empty()) save_picture(v.pictures, view, picture);
    };
    const Score score = evaluate(render, trainer.black(), scene.test, keep);
    result["psnr"] = score.psnr, result["ssim"] = score.ssim, result["frames_a_second"] = 1 / score.seconds;
    if (!v.json)
      fmt::print("PSNR      {:.2f} dB, SSIM {:.4f}, {:.1f} frames a second\nprotocol  {}\n", score.psnr,
                 score.ssim, 1 / score.seconds, score.protocol);
  }
  if (v.json) fmt::print("{}\n", with_schema("splat", result).dump(2));
  for (const std::string& file : {v.out, v.exported})
    if (!file.empty() && !v.json)
      fmt::print("written   {}{}\n", file,
                 scene.far_away() ? ", in coordinates around the offset " + position_text(scene.origin) : "");
  return stop_requested ? 130 : exit_ok;
}

std::function<int()> setup(CLI::App& app) {
  auto v = std::make_shared<Values>();
  app.add_option("scene", v->scene,
                 "a scene's folder (transforms files or a COLMAP model), a transforms JSON, or built-in")
      ->required();
  add_number(app, "--seconds", v->seconds, range::seconds, "train for this long (default 60)");
  add_number(app, "--steps", v->steps, range::steps, "train this many steps instead");
  app.add_option("--out", v->out, "write the Gaussians there, a .ply that splatting viewers read");
  app.add_option(
      "--export", v->exported,
      "and there, a .spz or .sog (compressed), a .splat (32 bytes a Gaussian, colors of degree 0) or a .ply");
  add_number(app, "--save-every", v->save_every, range::checkpoint_seconds,
             "seconds after which it is written again");
  app.add_option("--start", v->start,
                 "points: those of the scene (default where it has any); random; or a .ply, .splat, .spz "
                 "or .sog to go on from");
  app.add_option("--pictures", v->pictures, "a folder for the pictures of the test views");
  app.add_option("--preset", v->preset, presets_help("gaussians"));
  app.add_option("--set", v->set,
                 "a number of the recipe, as name=value (klab train --matrix lists them); may be given "
                 "several times")
      ->allow_extra_args(false);
  add_number(app, "--initial", v->given.initial, Range{1, 1e7}, "Gaussians at random places (default 20000)");
  add_number(app, "--most", v->given.most, Range{1, 1e8}, "Gaussians at most (default 100000)");
  add_number(app, "--budget", v->given.budget, Range{0, 1e8},
             "grow to this number and choose by gradient alone (default: by a threshold)");
  app.add_flag(
      "--relocate", v->relocate,
      "move transparent Gaussians to opaque ones up to --budget (default: --most), with noise, in place "
      "of choosing by gradient");
  add_number(app, "--degree", v->given.sh_degree, Range{0, 3}, "of the spherical harmonics (default 2)");
  add_number(app, "--ssim", v->given.ssim, Range{0, 1}, "weight of structural similarity (default 0.2)");
  add_number(app, "--downscale", v->reading.downscale, range::downscale, "shrink all pictures first");
  add_number(app, "--holdout", v->reading.holdout, range::holdout,
             "in scenes without a test set every N-th view is for testing");
  app.add_option(
         "--background", v->given.background,
         "behind transparent pixels in training: white, black, random, or scene (default: random for the "
         "built-in scene, else white)")
      ->check(CLI::IsMember({"scene", "white", "black", "random"}));
  add_backend(app, v->backend);
  app.add_option("--plan", v->plan, "best, naive, or a JSON file (default as of klab train)");
  add_json(app, v->json, {{"splat", ""}}, "print the result as JSON");
  return [v, &app] {
    v->default_plan = app.count("--plan") == 0;
    choose_settings(app, *v);
    return splat(*v);
  };
}

KLAB_COMMAND({.name = "splat", .summary = "Learn a scene as 3-D Gaussians", .setup = setup});

}  // namespace
}  // namespace klab::splat_command
