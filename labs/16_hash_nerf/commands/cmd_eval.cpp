// klab eval: how far a model is from pictures it has not seen.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "harness/cli/backend_option.h"
#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/gpu/gpu.h"
#include "harness/program/times_here.h"
#include "labs/radiance/evaluate/picture_maker.h"
#include "labs/radiance/run/run.h"

namespace klab {
namespace {

std::function<int()> setup_eval(CLI::App& app) {
  struct Values {
    std::string model, scene, plan = "best", backend = "cpu";
    SceneOptions reading;
    bool json = false;
  };
  auto v = std::make_shared<Values>();
  app.add_option("model", v->model, "model.safetensors, or the folder of a run")->required();
  app.add_option("scene", v->scene, "the scene it was trained on")->required();
  app.add_option("--plan", v->plan, "best, naive, or a JSON file");
  add_backend(app, v->backend);
  add_number(app, "--downscale", v->reading.downscale, range::downscale, "as in training");
  add_number(app, "--holdout", v->reading.holdout, range::holdout, "as in training");
  app.add_flag("--json", v->json, "print as JSON");
  return [v] {
    const auto loaded = load_field_model(model_file(v->model));
    const FieldModel& model = *loaded;
    const BackendChoice where = backend_named(v->backend);
    const OnGpu on_a_gpu(v->backend == "cuda");
    require_picture_plan(v->plan, model, where);
    v->reading.seed = settings().seed;
    if (!v->json) v->reading.say = [](const std::string& text) { fmt::print("{}\n", text); };
    const Scene scene = load_scene(v->scene, v->reading);
    CallTimes times = times_here();
    const PictureMaker pictures(model, v->plan, where, times);
    if (!v->json) fmt::print("{}", pictures.plan().text());
    const auto each = [&](const View&, const Picture&, const ViewScore& s) {
      if (!v->json) fmt::print("{:32} {:6.2f} dB  {:.4f}  {:.2f} s\n", s.name, s.psnr, s.ssim, s.seconds);
    };
    const Score score = evaluate(pictures.render(), model.placement().black, scene.test, each);
    if (v->json) {
      fmt::print("{}\n", score_json(score));
    } else {
      fmt::print("{:32} {:6.2f} dB  {:.4f}  {:.2f} s\nprotocol  {}\n", "mean", score.psnr, score.ssim,
                 score.seconds, score.protocol);
    }
    return exit_ok;
  };
}

KLAB_COMMAND({.name = "eval",
              .summary = "PSNR and SSIM of a model on a scene's test views",
              .setup = setup_eval});

}  // namespace
}  // namespace klab
