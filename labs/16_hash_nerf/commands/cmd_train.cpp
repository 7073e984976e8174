// klab train: trains a model on pictures.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>

#include "harness/cli/backend_option.h"
#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/number_option.h"
#include "harness/program/times_here.h"
#include "harness/records/input.h"
#include "harness/records/refused.h"
#include "labs/radiance/ranks/ranks.h"
#include "labs/radiance/ranks/share_processor.h"
#include "labs/radiance/run/budget.h"
#include "labs/radiance/run/default_plans.h"
#include "labs/radiance/run/precision.h"
#include "labs/radiance/run/presets.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/score_scope.h"
#include "labs/radiance/run/settings_matrix.h"
#include "labs/radiance/run/state.h"
#include "labs/radiance/tune/use_tuned.h"
#include "labs/radiance/view/live_view.h"

namespace klab::train_command {
namespace {

struct Values {
  RunOptions run;
  double seconds = 0, more = 0;
  int64_t steps = 0;
  int downscale = 1, holdout = 8;
  std::string scene, moved_to, config, out, resume, plan, precision, field, memory, reserve, pressure, score,
      preset;
  LossScaleSettings loss_scale;
  std::string scale_text;
  int64_t resident = 0, parts = 1, least_batch = 0, most_batch = 0;
  bool recompute = false;
  std::string eval_every;
  int64_t plateau = 0, patience = 0;
  std::vector<std::string> set;
  bool matrix = false;
  std::string on_nan = "stop";
  bool no_eval = false, tune = false;
  std::string view;
};

/// Opens the page of --view; `text` is empty or a port.
std::shared_ptr<RunViewer> viewer_at(const std::string& text) {
  HttpServer::require_available();
  if (Ranks::here().size() > 1)
    throw std::invalid_argument(
        "--view: is for one process, since the others would wait; leave it out, and klab view shows the "
        "trained model");
  return std::make_shared<LiveView>(view_port(text, "--view", "; the scene's name comes before --view"));
}

int64_t memory_of(const std::string& text, const char* option) {
  try {
    return bytes_from(text);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(fmt::format("{} {}", option, e.what()));
  }
}

/// Gives a resumed run `more` seconds on top of those that it has used, or says that its time is over.
void add_time(RunOptions& run, std::optional<double> more) {
  if (run.resume.empty() && more)
    throw std::invalid_argument("--more adds time to a --resume'd run; give --seconds");
  if (more && (run.seconds || run.steps))
    throw std::invalid_argument(
        "--more adds to the time that the run has used: leave out --seconds and --steps");
  if (run.resume.empty() || (!more && run.steps)) return;
  std::error_code ignored;
  const std::filesystem::path checkpoint = run.resume / "checkpoint.safetensors";
  if (!more && !std::filesystem::exists(checkpoint, ignored)) return;  // refused later, with what is missing
  const RunState state = run_state_in(TensorFile(checkpoint));
  const double budget = run.seconds.value_or(state.budget_seconds);
  if (more)
    run.seconds = state.seconds + *more;
  else if (budget > 0 && state.seconds >= budget && Ranks::here().first())
    fmt::print(stderr,
               "note      this run was given {:.0f} s and has trained for {:.0f} s: nothing is left to "
               "train; --more 20 "
               "trains 20 s more\n",
               budget, state.seconds);
}

/// Copies the options that were given; those left out may be set by a resumed run.
RunOptions options_of(const CLI::App& app, const Values& v) {
  const auto given = [&](const char* option) { return app.count(option) > 0; };
  RunOptions run = v.run;
  if (given("scene")) run.scene = v.scene;
  if (given("--scene")) run.moved_to = v.moved_to;
  if (given("--seconds")) run.seconds = v.seconds;
  if (given("--steps")) run.steps = v.steps;
  if (given("--downscale")) run.downscale = v.downscale;
  if (given("--holdout")) run.holdout = v.holdout;
  if (given("--plan")) run.plan = v.plan;
  if (given("--precision")) {
    unit_of_precision(v.precision);  // refuses an unknown name
    run.precision = v.precision;
  }
  if (given("--loss-scale") || given("--scale-start") || given("--scale-after")) {
    run.loss_scale = v.loss_scale;
    if (given("--loss-scale")) set_loss_scale(*run.loss_scale, v.scale_text);
    const LossScale checked(*run.loss_scale);  // refuses bad values
  }
  if (given("--memory")) run.memory = memory_of(v.memory, "--memory");
  if (given("--reserve")) run.reserve = memory_of(v.reserve, "--reserve");
  if (given("--pressure")) run.pressure = pressure_rule_from(v.pressure);
  if (given("--score")) run.score = score_seconds_from(v.score);
  if (given("--score") && v.no_eval)
    throw std::invalid_argument(
        "--score says how test views are scored, and --no-eval leaves it out: give one of them");
  if (given("--least-batch")) run.least_batch = v.least_batch;
  if (given("--most-batch")) run.most_batch = v.most_batch;
  if (given("--resident")) run.resident = v.resident;
  if (given("--parts")) run.parts = v.parts;
  run.recompute = v.recompute;
  Exchange::way_named(run.exchange);  // refuses an unknown name
  if (settings().seed_given) run.seed = settings().seed;
  if (run.seconds && run.steps) throw std::invalid_argument("give --seconds or --steps, not both");
  if (v.resume.empty() && run.moved_to)
    throw std::invalid_argument(
        "--scene says where the scene of a --resume'd run has moved; name a new run's without it: "
        "klab train " +
        v.moved_to);
  if (!v.resume.empty() && given("--config"))
    throw std::invalid_argument("--resume continues with the run's own config; leave out --config");
  if (!v.resume.empty() && v.tune)
    throw std::invalid_argument("--resume continues with the run's own batch; leave out --tune");
  if (!v.resume.empty() && given("--out"))
    throw std::invalid_argument("--resume writes into the folder it resumes; leave out --out");
  if (!v.resume.empty() && given("--preset"))
    throw std::invalid_argument("--resume continues with the run's own config; leave out --preset");
  for (const auto& [option, value] :
       {std::pair{"--out", v.out}, {"--resume", v.resume}, {"--config", v.config}})
    if (given(option) && value.empty()) throw std::invalid_argument(std::string(option) + " names nothing");
  if (given("--field")) {
    require_field(v.field);
    run.field = v.field;
  }
  run.settings.field = run.field.value_or("hash");
  for (const char* option : {"--workers", "--prefetch"}) {
    if (!given(option)) continue;
    run.for_turns.emplace_back(option);
    if (v.resume.empty()) require_option_of_field(option, run.settings.field);
  }
  if (!v.resume.empty() && !v.set.empty())
    throw std::invalid_argument("--resume continues with the run's own config; leave out --set");
  if (!v.config.empty() || !v.set.empty() || given("--preset")) {
    const std::string where = v.config.empty() ? "--set" : v.config, &field = run.settings.field;
    std::error_code ignored;
    if (!v.config.empty() && !std::filesystem::exists(v.config, ignored))
      throw Refused(v.config, "--config", "no such file for --config",
                    "name a JSON file of settings (docs/settings.md lists them), or leave it out");
    std::string text = v.config.empty() ? "" : read_input(v.config);
    if (given("--preset")) {
      const Preset& preset = preset_named(v.preset);
      text = with_preset(preset, field, run.backend, text, where, v.set);
      if (!run.seconds && !run.steps) run.seconds = preset.seconds;
      if (Ranks::here().first())
        fmt::print(run.json ? stderr : stdout, "{}", preset_text(preset, field, run.backend));
    } else if (!v.set.empty()) {
      text = with_values(text, where, v.set);
    }
    run.settings = field_settings(field, text, where);
  }
  run.out = v.out;
  run.resume = v.resume;
  run.evaluate = !v.no_eval;
  if (given("--eval-every")) run.eval_every = validation_interval_from(v.eval_every);
  if (given("--plateau")) run.plateau = v.plateau;
  if (given("--patience")) run.patience = v.patience;
  run.retry_not_finite = v.on_nan == "retry";
  if (given("--retries") && !run.retry_not_finite)
    throw std::invalid_argument("--retries counts those of --on-nan retry: give that too");
  add_time(run, given("--more") ? std::optional(v.more) : std::nullopt);
  return run;
}

/// Adds an option with the range and the help of its declaration.
template <class Number>
void add_setting(CLI::App& app, const char* name, Number& value) {
  const DeclaredOption& declared = declared_option("train", name);
  add_number(app, name, value, *declared.range, declared.help());
}
CLI::Option* add_text(CLI::App& app, const char* name, std::string& value) {
  return app.add_option(name, value, declared_option("train", name).help());
}

std::function<int()> setup_train(CLI::App& app) {
  auto v = std::make_shared<Values>();
  app.add_option("scene", v->scene, "folder with transforms JSON, or \"built-in\" (default)");
  app.add_option(
      "--field", v->field,
      "how the scene is held: " + fmt::format("{}", fmt::join(field_names(), ", ")) + " (default hash)");
  add_number(app, "--seconds", v->seconds, range::seconds, "train for this long (default 60)");
  add_number(app, "--steps", v->steps, range::steps, "train this many steps");
  app.add_option(
      "--plan", v->plan,
      "best (the fastest rung of each op here, timed once), last (the last rung of each, nothing is "
      "timed), naive, or "
      "a JSON file {\"op\": \"variant id\"}; "
      "resumed runs keep theirs. Default: best where this machine's times are known, else the rungs that "
      "klab ships with for the instruction set");
  add_text(app, "--precision", v->precision);
  add_text(app, "--loss-scale", v->scale_text);
  add_setting(app, "--scale-start", v->loss_scale.start);
  add_setting(app, "--scale-after", v->loss_scale.grow_after);
  add_backend(app, v->run.backend);
  app.add_option("--out", v->out, "folder to write (default runs/SCENE)");
  app.add_option("--resume", v->resume, "continue the run in this folder");
  add_number(app, "--more", v->more, range::seconds, "--resume: train this many seconds more");
  app.add_option("--scene", v->moved_to, "--resume: where the run's scene is, if it has moved");
  add_number(app, "--checkpoint", v->run.checkpoint_every, range::checkpoint_seconds,
             "seconds between checkpoints (default 30)");
  add_text(app, "--memory", v->memory);
  add_text(app, "--pressure", v->pressure);
  add_text(app, "--reserve", v->reserve);
  add_setting(app, "--least-batch", v->least_batch);
  add_setting(app, "--most-batch", v->most_batch);
  add_setting(app, "--resident", v->resident);
  add_setting(app, "--workers", v->run.workers);
  app.add_flag("--recompute", v->recompute, declared_option("train", "--recompute").help());
  add_setting(app, "--parts", v->parts);
  app.add_option(
      "--exchange", v->run.exchange,
      "how several processes share the table's gradient: dense (default), sharded (each moves a part) or "
      "touched (and only what was touched travels)");
  add_setting(app, "--prefetch", v->run.ahead);
  app.add_flag("--tune", v->tune,
               "with the batch that klab tune --batch has found for a run of --seconds; where it has not, it "
               "is found first");
  app.add_option(
      "--score", v->score,
      "seconds that the evaluation on the test views may take (default 60): views of at most 800 pixels a "
      "side, fewer or smaller ones where these take longer; or all: every view at its full size");
  app.add_flag("--no-eval", v->no_eval, "leave out the evaluation on the test views");
  add_text(app, "--eval-every", v->eval_every);
  add_setting(app, "--plateau", v->plateau);
  add_setting(app, "--patience", v->patience);
  add_setting(app, "--metrics-every", v->run.metrics_every);
  add_text(app, "--on-nan", v->on_nan)->check(CLI::IsMember({"stop", "retry"}));
  add_setting(app, "--retries", v->run.retries);
  app.add_option("--config", v->config, "JSON file with numbers of the recipe");
  app.add_option("--set", v->set, "a number of the recipe, as name=value; may be given several times")
      ->allow_extra_args(false);
  app.add_option("--preset", v->preset, presets_help());
  app.add_flag("--matrix", v->matrix,
               "print all settings: meaning, values, defaults by field; train nothing");
  add_number(app, "--downscale", v->downscale, range::downscale, "shrink the pictures by this factor");
  add_number(app, "--holdout", v->holdout, range::holdout,
             "without a test set: every N-th view is for testing (0: none)");
  app.add_option(
         "--view", v->view,
         fmt::format("serve a page on 127.0.0.1 that shows the scene while it trains; a port behind it "
                     "(default {}, or the next free one)",
                     kViewPort))
      ->expected(0, 1)
      ->option_text("[PORT]");
  add_json(app, v->run.json, {{"training", ""}}, "print the result as JSON");
  add_json_file(app, "training", "(result.json of the run)");
  return [v, &app] {
    if (v->matrix) {
      fmt::print("{}", settings_page());
      return int(exit_ok);
    }
    RunOptions options = options_of(app, *v);
    share_processor(Ranks::here(), settings().threads);
    CallTimes times = times_here();
    // Rungs of fewer bits are chosen by their times.
    if (!options.plan && options.precision.value_or("f32") != "bf16")
      use_default_plan(times, options.settings.field);
    if (v->resume.empty() && Ranks::here().size() == 1) {
      const OnCommandLine given{.threads = settings().threads > 0,
                                .workers = app.count("--workers") > 0,
                                .ahead = app.count("--prefetch") > 0};
      if (!use_tuned(options, given, v->tune, times)) return 130;
    } else if (v->tune) {
      throw std::invalid_argument(
          "--tune is for one process: klab tune --batch finds the batch, --config takes it");
    }
    if (app.count("--view") > 0) options.viewer = viewer_at(v->view);
    return train(std::move(options), times);
  };
}

KLAB_COMMAND({.name = "train",
              .summary = "Train a radiance field from pictures with poses",
              .setup = setup_train});

}  // namespace
}  // namespace klab::train_command
