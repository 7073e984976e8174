// klab eval: scores a model on pictures that it was not trained on.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "harness/cli/backend_option.h"
#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/number_option.h"
#include "harness/gpu/gpu.h"
#include "harness/program/times_here.h"
#include "harness/records/json_schema.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/ranks/ranks.h"
#include "labs/radiance/ranks/share_processor.h"
#include "labs/radiance/run/default_plans.h"
#include "labs/radiance/run/evaluation.h"
#include "labs/radiance/run/inference.h"
#include "labs/radiance/run/named_model.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/score_scope.h"
#include "labs/radiance/run/trained_on.h"
#include "labs/radiance/splat/ply.h"

namespace klab::eval_command {
namespace {

struct Values {
  std::string model, scene, plan = "best", backend = "cpu", score = "all", precision, batch, memory;
  SceneOptions reading;
  bool json = false, default_plan = false;
};

void print(const ViewScore& s) {
  fmt::print("{:32} {:6.2f} dB  {:.4f}  {:.2f} s\n", s.name, s.psnr, s.ssim, s.seconds);
}

/// Returns what speaks against the scores, and the scene's own notes.
std::vector<std::string> notes_on_scene(const Values& v, const std::filesystem::path& file,
                                        const FieldModel& model, const Scene& scene) {
  Placement placement = model.placement();
  std::optional<WorldPosition> origin;
  if (file.extension() == ".ply")
    if (const auto stored = place_in_ply(file)) placement = stored->placement, origin = stored->place.origin;
  std::vector<std::string> notes =
      notes_on_other_scene(file, placement, v.scene, scene, v.reading.holdout, origin);
  notes.insert(notes.end(), scene.notes.begin(), scene.notes.end());
  return notes;
}

int eval(Values& v) {
  Ranks& ranks = Ranks::here();
  const bool words = !v.json && ranks.first();
  const std::filesystem::path file = model_of_run(v.model);
  // Gaussians in a world of their own need the scene to be read; with other models, errors come before that.
  const bool of_a_world = is_gaussian_file(file);
  const PieceOptions pieces = piece_options(v.batch, v.memory);
  const Storage precision = load_precision(v.precision, file);
  std::unique_ptr<FieldModel> loaded = of_a_world ? nullptr : load_field_model(file, nullptr, precision);
  const BackendChoice where = backend_named(v.backend);
  const OnGpu on_a_gpu(v.backend == "cuda");
  if (loaded) require_picture_plan(v.plan, *loaded, where);
  v.reading.seed = settings().seed;
  // Gaussians learn from and are scored on pictures without the distortion of the lens, which a rasterizer cannot draw.
  v.reading.pinhole = of_a_world || loaded->as_gaussians() != nullptr;
  if (words) v.reading.say = [](const std::string& text) { fmt::print("{}\n", text); };
  Scene scene = load_scene(v.scene, v.reading);
  ScoreScope scope = begin_scope(scene.test, score_seconds_from(v.score));
  std::vector<std::string> notes;  // first those on the model
  if (of_a_world) loaded = load_field_model(file, &scene, Storage::f32, &notes);
  const FieldModel& model = *loaded;
  require_picture_plan(v.plan, model, where);
  std::ranges::move(notes_on_scene(v, file, model, scene), std::back_inserter(notes));
  if (words)
    for (const std::string& note : notes) fmt::print("note      {}\n", note);
  CallTimes times = times_here();
  if (v.default_plan) use_default_plan(times, model.field());
  const Plan plan = picture_plan_of_all(ranks, v.plan, model, where, times);
  if (words) fmt::print("{}{}", held_text(model, plan), plan.text());
  PiecewisePictures pictures(model, plan, where, pieces, [&](const std::string& text) {
    if (words) fmt::print("{}\n", text);
  });
  const auto picture_of = [&](const Camera& camera) { return pictures.draw(camera); };
  if (scene.test.empty())
    throw std::runtime_error(
        fmt::format("{} has no views for testing: --holdout 8 takes every eighth", v.scene));
  std::array<double, 1> pixel{ranks.first() ? seconds_per_pixel(picture_of, scene.test.front().camera) : 0};
  ranks.broadcast(pixel);
  choose_views(scope, scene.test, pixel[0] / double(ranks.size()));
  if (words) fmt::print("{}", scope_text(scope, pixel[0] / double(ranks.size())));
  std::fflush(stdout);
  const auto count = int64_t(scope.views.size());
  if (count < ranks.size())
    throw std::runtime_error(fmt::format("{} processes for {} test views; start fewer", ranks.size(), count));
  const ScoreScope mine = part_of(scope, ranks.rank(), ranks.size());
  // A single process prints while it evaluates; with several, the first prints everything at the end.
  const bool at_once = words && ranks.size() == 1;
  const auto each = [&](const View&, const Picture&, const ViewScore& s) {
    if (at_once) print(s);
  };
  const bool black = model.placement().black;
  const Score own = score_of(score_views(picture_of, black, scene.test, mine, each), scope.width,
                             scope.height, black, scored_by(scope));
  const Evaluation all = merge_scores({own, ""}, ranks, scope, black);
  ranks.wait_for_all();
  if (!ranks.first()) return exit_ok;
  const Score& score = all.score.value();
  if (v.json) {
    fmt::print("{}\n", with_schema("evaluation", nlohmann::json::parse(score_json(score, notes))).dump(2));
    return exit_ok;
  }
  if (!at_once)
    for (const ViewScore& s : score.views) print(s);
  fmt::print("{:32} {:6.2f} dB  {:.4f}  {:.2f} s\nprotocol  {}\n", "mean", score.psnr, score.ssim,
             score.seconds, score.protocol);
  return exit_ok;
}

std::function<int()> setup_eval(CLI::App& app) {
  auto v = std::make_shared<Values>();
  app.add_option("model", v->model,
                 "model.safetensors, the folder of a run, a snapshot of instant-ngp (.ingp), or Gaussians as "
                 ".ply, .splat, .spz or .sog")
      ->required();
  app.add_option("scene", v->scene, "the scene it was trained on")->required();
  app.add_option("--plan", v->plan, "best, last, naive, or a JSON file (default as of klab train)");
  add_backend(app, v->backend);
  app.add_option("--precision", v->precision, kPrecisionHelp);
  app.add_option("--batch", v->batch, kBatchHelp);
  app.add_option("--memory", v->memory, kMemoryHelp);
  app.add_option(
      "--score", v->score,
      "all (default): every test view at its full size; or seconds that it may take, as of klab train");
  add_number(app, "--downscale", v->reading.downscale, range::downscale, "as in training");
  add_number(app, "--holdout", v->reading.holdout, range::holdout, "as in training");
  add_json(app, v->json, {{"evaluation", ""}}, "print as JSON");
  return [v, &app] {
    v->default_plan = app.count("--plan") == 0;
    share_processor(Ranks::here(), settings().threads);
    return Ranks::here().run([&] { return eval(*v); });
  };
}

KLAB_COMMAND({.name = "eval",
              .summary = "PSNR and SSIM of a model on a scene's test views",
              .setup = setup_eval});

}  // namespace
}  // namespace klab::eval_command
