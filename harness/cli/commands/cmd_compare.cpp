// klab compare: compares two recorded runs.
#include <CLI/CLI.hpp>

#include "harness/cli/command.h"
#include "harness/cli/recorded.h"

namespace klab::compare_command {
namespace {

struct Options {
  std::string base, fresh;
  bool absolute = false;
  JudgeOptions judge;
};

int run(const Options& o) {
  const double threshold = o.judge.fraction();
  const Recording base = read_rows(o.base), fresh = read_rows(o.fresh);
  return show(
      compare_runs(base, fresh, {.verdict = {.threshold = threshold}, .absolute = o.absolute, .only = {}}),
      o.judge);
}

KLAB_COMMAND(
    {.name = "compare",
     .summary = "Two recorded runs: what became slower or faster, and how sure that is",
     .details =
         "BASE and NEW are files of rows (.csv) or names of baselines. Compared is the time over the "
         "time of an\n"
         "anchor in the same rounds: first rung, library or ceiling. SLOWER and FASTER: beyond the "
         "margin, with at\n"
         "most 1 % of false alarms over all comparisons together; SAME: within it, where it is at most five "
         "thresholds;\n"
         "else UNDECIDED. Exit code 0: none slower; 1: some slower, or wrong; 2: nothing could be decided, "
         "noise hides a\n"
         "slowdown of more than five thresholds, bad input, or with --strict something is undecided or only "
         "in "
         "the base.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("base", o->base, "rows, or the name of a baseline")->required()->option_text("BASE");
       app.add_option("new", o->fresh, "rows, or the name of a baseline")->required()->option_text("NEW");
       app.add_flag("--absolute", o->absolute, "compare times, not ratios; for two runs on one machine");
       add_judge_options(app, o->judge);
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::compare_command
