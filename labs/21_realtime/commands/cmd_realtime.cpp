// klab realtime: draws a field by one plan after the other, each faster than the one before, and says what each gives up.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/number_option.h"
#include "harness/core/project_info.h"
#include "harness/program/times_here.h"
#include "harness/records/atomic_file.h"
#include "harness/records/csv_text.h"
#include "harness/records/input.h"
#include "harness/records/json_schema.h"
#include "harness/records/memory_left.h"
#include "harness/report/page.h"
#include "harness/report/table.h"
#include "harness/timing/others_work.h"
#include "labs/21_realtime/train/measure.h"
#include "labs/radiance/run/comparison.h"
#include "labs/radiance/run/default_plans.h"
#include "labs/radiance/run/fields.h"
#include "labs/radiance/run/film.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/reading.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/score_scope.h"
#include "labs/radiance/run/stop.h"
#include "labs/radiance/run/trained_on.h"

namespace klab::realtime_command {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Values {
  std::string what, scene, config, out = "realtime";
  SceneOptions reading;
  bool downscale_given = false, holdout_given = false, plan_given = false, json = false;
  FilmOptions film;
  FramePlanOptions plans;
  int views = 4, frames = 6, rounds = 3;
  double turn = 1, seconds = 30;
  int64_t steps = 0;
  std::vector<double> gaze;
};

/// A field, the scene it shows if that is known, and what both are called.
struct Subject {
  std::unique_ptr<FieldModel> model;
  std::optional<Scene> scene;
  std::string name;
};

/// Prints a line for the reader, unless the output is for programs.
void say(const Values& v, const std::string& line) {
  if (!v.json) fmt::print("{}\n", line), std::fflush(stdout);
}

/// Trains a hash field on the scene, for the seconds or the steps of the command line.
std::unique_ptr<FieldModel> trained_here(const Values& v, const Scene& scene, CallTimes& times) {
  const Config config =
      v.config.empty() ? Config() : field_settings("hash", read_input(v.config), v.config).hash;
  Trainer trainer(scene, config, Plan::named(v.plans.rungs, training_calls(config, scene.cascades), times),
                  settings().seed);
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  Progress line;
  double share = 0;
  int64_t step = 0;
  while (share < 1 && !stop_requested) {
    if (step % 16 == 0) line.show(fmt::format("training  {:.0f} %", 100 * share));
    trainer.step(share);
    ++step;
    share = v.steps > 0 ? double(step) / double(v.steps)
                        : std::chrono::duration<double>(Clock::now() - begin).count() / v.seconds;
  }
  line.clear();
  say(v, fmt::format("trained   {} steps, for this ladder only: a model of klab train has its own", step));
  return field_model(trainer.averaged());
}

/// Returns the model's file if the first argument names one. Throws std::runtime_error for a run that has not ended.
std::optional<fs::path> model_named(const std::string& what) {
  const fs::path file = model_file(what);
  std::error_code error;
  if (fs::is_regular_file(file, error)) return file;
  if (fs::exists(fs::path(what) / "checkpoint.safetensors", error))
    throw std::runtime_error(
        fmt::format("{0}: holds no model.safetensors, because its training has not ended: klab train "
                    "--resume {0} ends it",
                    what));
  return std::nullopt;
}

/// Puts the name of what was given in front of an error about it.
template <class Work>
auto naming(const std::string& what, Work&& work) {
  try {
    return work();
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(fmt::format("{}: {}", what, e.what()));
  }
}

Subject subject_of(Values& v, CallTimes& times) {
  v.reading.seed = settings().seed;
  const std::optional<fs::path> file = model_named(v.what);
  if (!file) {
    if (!v.scene.empty())
      throw std::invalid_argument(fmt::format(
          "--scene {}: {} is no model, so it must be the scene itself: leave one out", v.scene, v.what));
    frame_plan_names("hash", v.plans);  // refuses what there is none of, before the training
    Scene scene = load_scene_visibly(v.what, v.reading);
    if (!v.plan_given) use_default_plan(times, "hash");
    auto model = trained_here(v, scene, times);
    return {std::move(model), std::move(scene), v.what};
  }
  for (const auto& [given, option] :
       {std::pair{!v.config.empty(), "--config"}, std::pair{v.steps > 0, "--steps"}})
    if (given)
      throw std::invalid_argument(
          fmt::format("{}: is for training, and {} is a model: leave it out", option, v.what));
  auto model = load_field_model(*file);
  naming(v.what, [&] { return frame_plan_names(model->field(), v.plans); });
  if (!v.plan_given) use_default_plan(times, model->field());
  const std::optional<RunState> run = run_of_model(*file);
  if (run && !v.downscale_given) v.reading.downscale = run->downscale;
  if (run && !v.holdout_given) v.reading.holdout = run->holdout;
  if (run && !settings().seed_given) v.reading.seed = run->seed;
  std::optional<std::string> scene = v.scene.empty() ? scene_of_model(*file) : std::optional(v.scene);
  Subject subject{std::move(model), {}, v.what};
  if (scene) {
    v.reading.pictures = SceneOptions::Pictures::on_disk;
    subject.scene = load_scene(*scene, v.reading);
  }
  return subject;
}

/// Returns paths to test views, spread over all of them; `views` keeps these.
std::vector<FramePath> paths_to_views(const Values& v, const Scene& scene, std::vector<View>& views) {
  if (scene.test.empty())
    throw std::runtime_error(fmt::format(
        "{}: has no views for testing: --holdout 8 takes every eighth, --orbit 60 draws around the model",
        v.what));
  const int64_t all = int64_t(scene.test.size()), count = std::min<int64_t>(v.views, all);
  for (int64_t i = 0; i < count; ++i) views.push_back(scene.test[size_t(i * all / count)]);
  load_pictures_visibly(views);
  for (View& view : views) {
    const int longer = std::max(view.camera.width, view.camera.height);
    if (v.film.sized) reduce_view(view, (longer + v.film.size - 1) / v.film.size);
  }
  std::vector<FramePath> paths;
  for (const View& view : views) paths.push_back(path_to(view, v.frames, v.turn));
  return paths;
}

std::string with_interval(const Estimate& e, int digits, const char* unit = "") {
  return fmt::format("{:.{}f}{} [{:.{}f}, {:.{}f}]", e.value, digits, unit, e.low, digits, e.high, digits);
}

std::string db(const std::optional<double>& value, const char* none, const char* infinite) {
  return !value ? none : std::isinf(*value) ? infinite : fmt::format("{:.2f}", *value);
}

const std::vector<std::string> kHeads = {"plan",
                                         "frames/s",
                                         "over the first",
                                         "PSNR, dB",
                                         "from first, dB",
                                         "computed",
                                         "what is skipped or given up"};

std::vector<std::string> cells_of(const PlanRow& r) {
  return {r.plan,
          with_interval(r.frames_per_second, 2),
          r.over_first ? with_interval(*r.over_first, 2, "x") : "",
          db(r.psnr, "-", "equal"),
          db(r.apart, "", "equal"),
          fmt::format("{:.0f} %", 100 * r.computed),
          r.change};
}

/// What all rows share.
struct Conditions {
  int width = 0, height = 0;
  size_t paths = 0, frames = 0;
  int rounds = 0;
  double others = 0;  // hardware threads that other programs kept busy
};

/// Returns the scene's name, or what was drawn if its scene is not known.
const std::string& shown(const Subject& subject) {
  return subject.scene ? subject.scene->name : subject.name;
}

std::string csv_of(const Subject& subject, const std::vector<PlanRow>& rows, const Conditions& c) {
  const ProjectInfo& project = project_info();
  const std::string commit = project.commit + (project.dirty ? "-dirty" : "");
  std::string text =
      "plan,parent,frames_per_second,low,high,over_first,over_first_low,over_first_high,over_parent,over_"
      "parent_low,"
      "over_parent_high,psnr,from_first,computed,held_bytes,width,height,paths,frames,rounds,threads,"
      "scene,commit,change\n";
  const auto ratio = [](const std::optional<Estimate>& e) {
    return e ? fmt::format("{:.4f},{:.4f},{:.4f}", e->value, e->low, e->high) : std::string(",,");
  };
  for (const PlanRow& r : rows) {
    const Estimate& rate = r.frames_per_second;
    text += fmt::format("{},{},{:.4f},{:.4f},{:.4f},{},{},{},{},{:.4f},{},", r.plan, r.parent, rate.value,
                        rate.low, rate.high, ratio(r.over_first), ratio(r.over_parent), db(r.psnr, "", "inf"),
                        db(r.apart, "", "inf"), r.computed, r.held_bytes);
    text += fmt::format("{},{},{},{},{},{},{},{},{}\n", c.width, c.height, c.paths, c.frames, c.rounds,
                        omp_get_max_threads(), csv_quoted(shown(subject)), commit, csv_quoted(r.change));
  }
  return text;
}

json json_of(const Subject& subject, const std::vector<PlanRow>& rows, const Conditions& c) {
  const auto estimate = [](const std::optional<Estimate>& e) {
    return e ? json{{"value", e->value}, {"low", e->low}, {"high", e->high}} : json(nullptr);
  };
  const auto number = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) ? json(*value) : json(nullptr);
  };
  json plans = json::array();
  for (const PlanRow& r : rows)
    plans.push_back({{"plan", r.plan},
                     {"parent", r.parent.empty() ? json(nullptr) : json(r.parent)},
                     {"change", r.change},
                     {"frames_per_second", estimate(r.frames_per_second)},
                     {"over_first", estimate(r.over_first)},
                     {"over_parent", estimate(r.over_parent)},
                     {"psnr", number(r.psnr)},
                     {"from_first", number(r.apart)},
                     {"computed", r.computed},
                     {"held_bytes", r.held_bytes}});
  return {{"subject", subject.name},
          {"field", subject.model->field()},
          {"scene", subject.scene ? json(subject.scene->name) : json(nullptr)},
          {"width", c.width},
          {"height", c.height},
          {"paths", c.paths},
          {"frames", c.frames},
          {"rounds", c.rounds},
          {"threads", omp_get_max_threads()},
          {"others_busy", c.others},
          {"plans", plans}};
}

void write_page(const Values& v, const std::vector<PlanRow>& rows, const std::string& conditions) {
  Page page("Real time: " + v.what);
  page.text(conditions);
  std::vector<std::vector<std::string>> cells;
  std::vector<Curve> points;  // no line: two plans may have one parent
  for (const PlanRow& r : rows) {
    cells.push_back(cells_of(r));
    if (r.psnr && std::isfinite(*r.psnr))
      points.push_back({.name = r.plan, .points = {{r.frames_per_second.value, *r.psnr}}});
  }
  page.table(kHeads, cells);
  if (!points.empty()) page.curves(points, "frames/s", "PSNR, dB", true, false, "What each plan pays with.");
  for (const PlanRow& r : rows)
    page.picture((fs::path(v.out) / (r.plan + ".png")).string(), 800, r.plan + ": " + r.change);
  write_file(fs::path(v.out) / "realtime.html", page.html());
}

/// Writes the last picture of the first path, where it is known with the true one on its right.
void save_frame(const fs::path& folder, const FramePlan& plan, const FramePath& path, const Picture& p,
                bool black) {
  const fs::path file = folder / (plan.name + ".png");
  if (path.last != nullptr) return save_comparison(file, *path.last, p, black);
  std::vector<uint8_t> rgb(p.rgb.size());
  std::ranges::transform(p.rgb, rgb.begin(), to_byte);
  save_png(file, p.width, p.height, 3, rgb);
}

std::string text_of(const Conditions& c, bool scored, const Values& v) {
  return fmt::format(
      "{}x{} pixels, {} threads; {} {} of {} cameras, {} rounds, plans one after the other in each; the "
      "first frame of a path is not "
      "timed.\n{}",
      c.width, c.height, omp_get_max_threads(), c.paths, c.paths == 1 ? "path" : "paths", c.frames, c.rounds,
      scored
          ? fmt::format(
                "PSNR: of the test views at which paths end, {:g} degrees a frame; from first: against the "
                "first plan's pictures.",
                v.turn)
          : "No true pictures are known along this path; from first: against the first plan's pictures.");
}

int climb(Values& v) {
  for (size_t i = 0; i < v.gaze.size(); ++i) v.plans.gaze[i] = v.gaze[i];
  const StopSignals signals;
  CallTimes times = times_here();
  const Subject subject = subject_of(v, times);
  const FieldModel& model = *subject.model;
  const auto vertices = double(v.plans.cells + 1);
  require_memory(int64_t(12 * vertices * vertices * vertices),
                 fmt::format("a grid of {} cells along an edge", v.plans.cells),
                 "give --cells a lower number");
  const bool of_a_film = v.film.orbit > 0 || !v.film.path.empty();
  if (!of_a_film && !subject.scene)
    throw std::runtime_error(
        fmt::format("{}: the scene that it was trained on is not known: give --scene DIR, or --orbit 60 for "
                    "cameras around it",
                    v.what));
  std::vector<View> views;
  std::vector<FramePath> paths;
  if (of_a_film) {
    const Film film = film_of(v.film, [&] { return subject.scene; });
    if (!film.said.empty()) say(v, film.said);
    paths.push_back({film.cameras, nullptr});
  } else {
    paths = paths_to_views(v, *subject.scene, views);
  }
  make_folder(v.out);
  for (const char* file : {"realtime.csv", "realtime.html"}) require_writable_file(fs::path(v.out) / file);
  std::vector<FramePlan> plans = naming(v.what, [&] {
    return frame_plans(model, v.plans, times, [&](const std::string& line) { say(v, line); });
  });
  const bool black = model.placement().black;
  const OthersWork others;
  Progress progress;
  const auto measured = measure_frames(
      plans, paths, v.rounds, black, [] { return stop_requested.load(); },
      [&](const std::string& line) { progress.show(line); },
      [&](const FramePlan& plan, const FramePath& path, const Picture& picture) {
        save_frame(v.out, plan, path, picture, black);
      });
  progress.clear();
  if (stop_requested) {
    stop_heeded();
    if (!v.json) fmt::print("interrupted: no table\n");
    return 130;
  }
  const Camera& camera = paths.front().cameras.front();
  const Conditions c{camera.width, camera.height,   paths.size(), paths.front().cameras.size(),
                     v.rounds,     others.threads()};
  const std::vector<PlanRow> rows = rows_of(plans, measured);
  write_file(fs::path(v.out) / "realtime.csv", csv_of(subject, rows, c));
  const std::string conditions = text_of(c, !of_a_film, v);
  write_page(v, rows, conditions);
  if (v.json) {
    fmt::print("{}\n", with_schema("realtime", json_of(subject, rows, c)).dump(2));
    return exit_ok;
  }
  std::vector<Column> columns;
  for (const std::string& head : kHeads)
    columns.push_back(
        {head, columns.empty() || head == kHeads.back() ? Column::Kind::left : Column::Kind::right});
  Table table(columns);
  for (const PlanRow& r : rows) {
    const std::vector<std::string> cells = cells_of(r);
    table.add({cells.begin(), cells.end()});
  }
  fmt::print("{}{}\n", table.text(), conditions);
  constexpr double kBusy = 0.25;  // hardware threads
  if (c.others > kBusy)
    fmt::print(
        "note      other programs kept {:.1f} hardware threads busy: times of this table are theirs, too\n",
        c.others);
  fmt::print("written   {}\n", (fs::path(v.out) / "realtime.csv").string());
  return exit_ok;
}

std::function<int()> setup_realtime(CLI::App& app) {
  auto v = std::make_shared<Values>();
  app.add_option("what", v->what,
                 "model.safetensors or the folder of a run; or a scene (built-in), to train on it first")
      ->required();
  app.add_option("--scene", v->scene, "scene of the model (default: that of its run)");
  auto* size =
      add_number(app, "--size", v->film.size, range::side_pixels,
                 "pixels of the longer side (default: that of the views); views shrink by whole factors");
  constexpr Range kFrames{2, 100000}, kTurn{0, 90}, kCells{8, 512}, kDegree{0, 1}, kShare{0.08, 1},
      kStop{0, 0.5}, kEvery{1, 16};
  auto* views =
      add_number(app, "--views", v->views, range::frames, "test views at which paths end (default 4)");
  auto* frames = add_number(app, "--frames", v->frames, kFrames, "cameras of such a path (default 6)");
  auto* turn = add_number(app, "--turn", v->turn, kTurn, "degrees from one of them to the next (default 1)");
  auto* orbit = add_number(app, "--orbit", v->film.orbit, kFrames,
                           "one path with this number of cameras, as of klab render");
  auto* path = app.add_option(
      "--path", v->film.path,
      "circle, cameras (along those of the scene), or a camera path of nerfstudio's viewer, a JSON");
  for (CLI::Option* of_views : {views, frames, turn})
    for (CLI::Option* of_film : {orbit, path}) of_views->excludes(of_film);
  add_number(app, "--height", v->film.height, range::elevation,
             "of a circle's cameras: sine of their elevation");
  add_number(app, "--distance", v->film.distance, range::distance,
             "of a circle from the center, in sides of the unit cube");
  add_number(app, "--fov", v->film.fov, range::degrees, "of a circle's cameras, horizontal, degrees");
  add_number(app, "--rounds", v->rounds, range::rounds,
             "times that each path is drawn by each plan (default 3)");
  app.add_option("--plans", v->plans.only,
                 "only these and the first: 07, baked or 07_baked; several with commas")
      ->delimiter(',');
  app.add_option("--plan", v->plans.rungs,
                 "rungs: best, last, naive, or a JSON file (default as of klab train)");
  add_number(app, "--cells", v->plans.cells, kCells,
             "of the baked grid along an edge, a power of two (default 256)");
  add_number(app, "--sh-degree", v->plans.sh_degree, kDegree, "of the baked colors (default 1)");
  add_number(app, "--stop", v->plans.stop, kStop, "transmittance at which baked rays end (default 0.001)");
  add_number(app, "--every", v->plans.every, kEvery,
             "frames in which reuse computes each pixel once: 1, 2, 4, 8 or 16 (default 8)");
  add_number(app, "--share", v->plans.share, kShare, "of the pixels that foveation computes (default 0.25)");
  app.add_option("--gaze", v->gaze, "middle of the fovea, as shares of width and height (default 0.5,0.5)")
      ->delimiter(',')
      ->expected(2)
      ->check(number_within<double>({0, 1}));
  auto* seconds =
      add_number(app, "--seconds", v->seconds, range::seconds, "of training on a scene (default 30)");
  add_number(app, "--steps", v->steps, range::steps, "of training, in place of seconds")->excludes(seconds);
  app.add_option("--config", v->config, "JSON file with numbers of the recipe, for training on a scene");
  auto* downscale = add_number(app, "--downscale", v->reading.downscale, range::downscale, "as in training");
  auto* holdout = add_number(app, "--holdout", v->reading.holdout, range::holdout, "as in training");
  app.add_option("--out", v->out, "folder to write (default realtime)");
  add_json(app, v->json, {{"realtime", ""}}, "print as JSON");
  return [v, size, downscale, holdout, &app] {
    v->film.sized = size->count() > 0;
    v->downscale_given = downscale->count() > 0, v->holdout_given = holdout->count() > 0;
    v->plan_given = app.count("--plan") > 0;
    return climb(*v);
  };
}

KLAB_COMMAND(
    {.name = "realtime",
     .summary = "A ladder of plans that draw a trained field faster, with what each gives up",
     .details =
         "Every plan draws the same paths of cameras; frames a second are compared round by round. Writes "
         "realtime.csv "
         "with\na row for each plan, realtime.html with their pictures, and the pictures. Plans: early stop, "
         "empty "
         "space, squares of\nrays, half and int8, baked voxels, reuse of the picture before, foveation.",
     .setup = setup_realtime});

}  // namespace
}  // namespace klab::realtime_command
