// klab tune: searches for the threads, the pictures read ahead and the batch that are best on this machine,
// and remembers them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "harness/cli/backend_option.h"
#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/program/times_here.h"
#include "harness/records/input.h"
#include "labs/radiance/run/stop.h"
#include "labs/radiance/tune/tune.h"

namespace klab::tune_command {
namespace {

struct Values {
  TuneOptions options;
  std::string field = "hash", config;
  bool dry = false, anyway = false;
};

int tune_here(Values& v) {
  require_field(v.field);
  v.options.settings.field = v.field;
  if (!v.config.empty()) v.options.settings = field_settings(v.field, read_input(v.config), v.config);
  require_backend(v.options.settings, v.options.backend);
  v.options.seed = settings().seed;
  v.options.fixed_threads = settings().threads > 0;
  CallTimes times = times_here();
  const StopSignals signals;
  const TuneResult result = tune(v.options, times, stdout);
  if (result.interrupted) {
    stop_heeded();
    fmt::print("interrupted: nothing is remembered\n");
    return 130;
  }
  fmt::print("{}", tune_text(result));
  const auto file = tuned_file();
  std::string why;
  if (v.dry) why = "--dry-run";
  if (file.empty()) why = "neither HOME nor XDG_CACHE_HOME is set";
  const bool counted = result.tuned.blocks_by == "counts";  // counts do not depend on other programs
  if (!result.quiet() && !counted && !v.anyway)
    why = fmt::format("other programs kept {:.1f} hardware threads busy; --anyway remembers it all the same",
                      result.others);
  if (!why.empty()) {
    fmt::print("nothing is remembered: {}\n", why);
    return exit_ok;
  }
  remember(file, result.tuned);
  fmt::print("kept      {}: klab train takes threads, workers and prefetch from it{}\n", file.string(),
             v.options.batch ? ", and with --tune the batch" : "; the batch is looked for with --batch");
  return exit_ok;
}

std::function<int()> setup_tune(CLI::App& app) {
  auto v = std::make_shared<Values>();
  TuneOptions& o = v->options;
  app.add_option("scene", o.scene, "folder with transforms JSON, or \"built-in\" (default)");
  app.add_option("--field", v->field, "how the scene is held (default hash)");
  app.add_option("--config", v->config, "JSON file with numbers of the recipe that runs will have");
  add_backend(app, o.backend);
  app.add_option(
      "--plan", o.plan,
      "that the runs will have: best (default), last, naive, or a JSON file {\"op\": \"variant id\"}");
  app.add_flag(
      "--batch", o.batch,
      "look for the batch, too: trainings of --seconds, scored on training views that they leave out");
  add_number(app, "--seconds", o.seconds, range::seconds, "--batch: of the runs that it is for (default 60)");
  add_number(app, "--resident", o.resident, range::frames,
             "pictures in memory at a time, for runs with --resident: how many workers read how far ahead is "
             "looked for");
  add_number(app, "--round", o.round, range::seconds, "seconds of steps in a round of a race (default 0.5)");
  add_number(app, "--downscale", o.downscale, range::downscale, "shrink the pictures by this factor");
  add_number(app, "--holdout", o.holdout, range::holdout,
             "without a test set: every N-th view is for testing, and is left out (0: none)");
  app.add_flag("--dry-run", v->dry, "remember nothing");
  app.add_flag("--anyway", v->anyway,
               "remember what was found while other programs kept the machine busy, too");
  return [v] { return tune_here(*v); };
}

KLAB_COMMAND(
    {.name = "tune",
     .summary = "Find the threads, prefetch and batch that train fastest here, and remember them",
     .details = "Searches with early stopping; what is found is kept for this machine, field and recipe. "
                "With --backend "
                "cuda block sizes of\nCUDA rungs are looked for by time, with --backend simt by counts only.",
     .setup = setup_tune});

}  // namespace
}  // namespace klab::tune_command
