// klab train: pictures in, a model out.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/program/times_here.h"
#include "labs/radiance/run/run.h"

namespace klab {
namespace {

std::function<int()> setup_train(CLI::App& app) {
  struct Values {
    RunOptions run;
    double seconds = 0;
    int64_t steps = 0;
    std::string config, out, resume, plan;
    bool no_eval = false;
  };
  auto v = std::make_shared<Values>();
  app.add_option("scene", v->run.scene, "folder with transforms JSON, or \"built-in\" (default)");
  app.add_option("--seconds", v->seconds, "train for this long (default 60)")->check(CLI::PositiveNumber);
  app.add_option("--steps", v->steps, "train this many steps")->check(CLI::PositiveNumber);
  app.add_option(
      "--plan", v->plan,
      "best (default: the fastest rung of each op here), naive, or a JSON file {\"op\": \"variant id\"}; "
      "resumed runs keep theirs");
  app.add_option(
         "--backend", v->run.backend,
         "cpu (default), cuda (a GPU), or simt: the same CUDA rungs on the host executor, for small configs")
      ->check(CLI::IsMember({"cpu", "simt", "cuda"}));
  app.add_option("--out", v->out, "folder to write (default runs/SCENE)");
  app.add_option("--resume", v->resume, "go on with the run in this folder");
  app.add_option("--checkpoint", v->run.checkpoint_every, "seconds between checkpoints (default 30)")
      ->check(CLI::Range(0.1, 1e6));
  app.add_flag("--no-eval", v->no_eval, "leave out the evaluation on the test views");
  app.add_option("--config", v->config, "JSON file with numbers of the recipe");
  app.add_option("--downscale", v->run.reading.downscale, "shrink the pictures by this factor")
      ->check(CLI::Range(1, 64));
  app.add_option("--holdout", v->run.reading.holdout,
                 "without a test set: every so many-th view is for testing (0: none)");
  app.add_flag("--json", v->run.json, "print the result as JSON");
  return [v] {
    if (v->seconds > 0) v->run.seconds = v->seconds;
    if (v->steps > 0) v->run.steps = v->steps;
    if (v->run.seconds && v->run.steps) throw std::invalid_argument("give --seconds or --steps, not both");
    if (!v->resume.empty() && !v->config.empty())
      throw std::invalid_argument("--resume goes on with the run's own config; leave out --config");
    if (!v->resume.empty() && !v->out.empty())
      throw std::invalid_argument("--resume writes into the folder it resumes; leave out --out");
    if (!v->config.empty()) v->run.config = read_config(v->config);
    v->run.out = v->out;
    v->run.evaluate = !v->no_eval;
    v->run.resume = v->resume;
    v->run.seed = settings().seed;
    if (!v->plan.empty()) v->run.plan = v->plan;
    CallTimes times = times_here();
    return train(v->run, times);
  };
}

KLAB_COMMAND({.name = "train",
              .summary = "Train a hash-NeRF from pictures with poses",
              .setup = setup_train});

}  // namespace
}  // namespace klab
