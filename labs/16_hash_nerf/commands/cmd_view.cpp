// klab view: a page that shows a trained model, or the last checkpoint of a run.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>

#include "harness/cli/backend_option.h"
#include "harness/cli/command.h"
#include "harness/gpu/gpu.h"
#include "harness/program/times_here.h"
#include "harness/records/input.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/run/default_plans.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/reading.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/stop.h"
#include "labs/radiance/run/trained_on.h"
#include "labs/radiance/view/live_view.h"

namespace klab::view_command {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct ViewValues {
  std::string run, port, scene, plan = "best", backend = "cpu";
  bool default_plan = false;
};

/// Returns the model of a run, or its checkpoint if it has no model yet. Throws std::runtime_error for a folder without
/// both.
fs::path file_of_run(const std::string& given) {
  std::error_code error;
  if (!fs::is_directory(given, error)) {
    if (!fs::exists(given, error))
      throw std::runtime_error(given + ": no such file or folder: name the folder of a run of klab train");
    return given;
  }
  for (const char* name : {"model.safetensors", "checkpoint.safetensors"})
    if (fs::exists(fs::path(given) / name, error)) return fs::path(given) / name;
  throw std::runtime_error(
      given +
      ": holds neither model.safetensors nor checkpoint.safetensors: name the folder of a run "
      "of klab train; one that trains writes a checkpoint every half-minute");
}

/// Loads the model, Gaussians of another program into the box of the scene that was named. Prints what their reader notes.
std::unique_ptr<FieldModel> load_model(const fs::path& file, const std::string& scene) {
  if (is_gaussian_file(file)) {
    std::optional<Scene> place;
    if (!scene.empty()) place = cameras_of_scene(scene, settings().seed);
    std::vector<std::string> notes;
    auto model = load_field_model(file, place ? &*place : nullptr, Storage::f32, &notes);
    for (const std::string& note : notes) fmt::print("note      {}\n", note);
    return model;
  }
  if (is_snapshot_file(file)) return load_field_model(file);
  try {
    return load_field_model(file);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(
        fmt::format("{}; klab train --resume, or a new training, writes it again", e.what()));
  }
}

/// Reads the scene of a model, with pictures left on the disk. Prints a note and returns nothing if it is not known or not
/// there any more.
std::optional<Scene> scene_of(const ViewValues& v, const fs::path& file) {
  const std::optional<RunState> run = run_of_model(file.parent_path() / "model.safetensors");
  std::optional<std::string> name = run ? recorded_scene(*run, file.parent_path()) : std::nullopt;
  if (!v.scene.empty()) name = v.scene;
  if (!name) {
    fmt::print(
        "note      the scene of this model is not known here: there are no views to compare with; --scene "
        "DIR "
        "names it\n");
    return std::nullopt;
  }
  SceneOptions reading;
  if (run) {
    reading.downscale = run->downscale;
    reading.holdout = run->holdout;
    reading.seed = run->seed;
  }
  reading.pictures = SceneOptions::Pictures::on_disk;
  try {
    return load_scene_visibly(*name, reading);
  } catch (const std::runtime_error& e) {
    if (!v.scene.empty()) throw;
    fmt::print("note      {}: there are no views to compare with; --scene DIR names the scene\n", e.what());
    return std::nullopt;
  }
}

/// Returns the seconds of each stage that a run's result lists; empty without a result.
std::vector<std::pair<std::string, double>> stages_of(const json& result) {
  std::vector<std::pair<std::string, double>> stages;
  if (!result.is_object() || !result.contains("stages") || !result.at("stages").is_object()) return stages;
  for (const auto& [name, stage] : result.at("stages").items())
    if (stage.is_object() && stage.contains("seconds") && stage.at("seconds").is_number())
      stages.emplace_back(name, stage.at("seconds").get<double>());
  return stages;
}

/// Returns the result of the run that a file belongs to; null if there is none that can be read.
json result_of(const fs::path& file) {
  try {
    return read_json_file(file.parent_path() / "result.json");
  } catch (const std::runtime_error&) {
    return nullptr;  // the model itself is what was asked for
  }
}

int64_t steps_of(const json& result, const fs::path& file) {
  if (result.is_object() && result.contains("steps") && result.at("steps").is_number())
    return result.at("steps").get<int64_t>();
  try {
    const MetricsColumns lines = read_metrics(file.parent_path() / "metrics.csv");
    const std::vector<double>& steps = lines.at("step");
    return steps.empty() || !std::isfinite(steps.back()) ? 0 : int64_t(steps.back());
  } catch (const std::runtime_error&) {
    return 0;
  }
}

int view(const ViewValues& v) {
  HttpServer::require_available();
  const fs::path file = file_of_run(v.run);
  std::unique_ptr<FieldModel> loaded = load_model(file, v.scene);
  const BackendChoice where = backend_named(v.backend);
  const OnGpu on_a_gpu(v.backend == "cuda");
  CallTimes times = times_here();
  if (v.default_plan) use_default_plan(times, loaded->field());
  require_picture_plan(v.plan, *loaded, where);
  const Plan plan = Plan::named(v.plan, loaded->picture_calls(where), times, where.ladder);
  const std::optional<Scene> scene = scene_of(v, file);
  if (file.filename() == "checkpoint.safetensors")
    fmt::print("note      the run has no model yet: this is its last checkpoint\n");

  LiveView page(view_port(v.port, "--port"));
  fmt::print("view      {}\nnote      Ctrl-C ends it\n", page.address());
  std::fflush(stdout);
  const StopSignals signals;
  const json result = result_of(file);
  page.show(
      {.folder = file.parent_path(),
       .field = loaded->field(),
       .scene = scene ? &*scene : nullptr,
       .black = loaded->placement().black,
       .model = [&] { return loaded ? std::move(loaded) : load_model(file, v.scene); },
       .pictures =
           [&](const FieldModel& model) { return PictureMaker(model, v.plan, where, times, plan).render(); },
       .save = nullptr},
      stages_of(result), steps_of(result, file));
  return exit_ok;
}

std::function<int()> setup_view(CLI::App& app) {
  auto v = std::make_shared<ViewValues>();
  app.add_option("run", v->run, "the folder of a run, or a model.safetensors")->required();
  app.add_option("--port", v->port,
                 fmt::format("of 127.0.0.1 (default {}, or the next free one)", kViewPort));
  app.add_option("--scene", v->scene, "the scene that the model was trained on, if it has moved");
  app.add_option("--plan", v->plan, "best, last, naive, or a JSON file (default as of klab train)");
  add_backend(app, v->backend);
  return [v, &app] {
    v->default_plan = app.count("--plan") == 0;
    return view(*v);
  };
}

KLAB_COMMAND(
    {.name = "view",
     .summary = "Show a trained model on a page of this machine",
     .details =
         "Serves a page on 127.0.0.1 to browsers that know its address: the scene from any side, its depth, "
         "normals and errors,\nand the curves of its training. klab train --view shows a scene while it "
         "trains.",
     .setup = setup_view});

}  // namespace
}  // namespace klab::view_command
