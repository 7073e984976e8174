// klab bench: times ladders and records them.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/check/check.h"
#include "harness/cli/bench_sessions.h"
#include "harness/cli/command.h"
#include "harness/cli/counts_text.h"
#include "harness/cli/json_option.h"
#include "harness/cli/ladder_text.h"
#include "harness/cli/number_option.h"
#include "harness/cli/shape_option.h"
#include "harness/compare/sweep.h"
#include "harness/core/select.h"
#include "harness/records/counts.h"
#include "harness/report/table.h"
#include "harness/timing/bench.h"

namespace klab::bench_command {
namespace {

struct Options {
  std::vector<std::string> what;
  std::string backend;
  std::string out;
  int rounds = 0;
  bool quick = false;
  bool largest = false;
  bool json = false;
  std::vector<int64_t> shape;
  std::string size;
  std::string baseline;
  std::string sweep;
  int sessions = 16;
  std::string plan;  // if session is set: this process is one of several
  int session = 0;
};

struct Task {
  Selected what;
  BenchShape shape;
  int threads = 0;  // 0: the default of all commands
};

std::string lower(std::string text) {
  for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Returns the requested variants plus those that their speedups are relative to: first rung, parent, peers.
std::vector<const Variant*> with_company(const Selected& s, const std::string& backend) {
  const auto asked = [&](const Variant* v) {
    return std::find(s.variants.begin(), s.variants.end(), v) != s.variants.end();
  };
  std::vector<const Variant*> list;
  for (const Variant* v : variants_of(s.op->op.name)) {
    bool needed = asked(v) || (v->peer && (backend.empty() || v->backend == backend));
    for (const Variant* a : s.variants) needed = needed || naive_of(*a) == v || a->parent == v->id;
    if (needed) list.push_back(v);
  }
  return list;
}

std::vector<Task> tasks_of(const std::vector<Selected>& selection, const Options& o) {
  std::vector<Task> tasks;
  std::vector<std::string> sizes;
  for (const Selected& s : selection) {
    if (!o.shape.empty()) {
      require_shape(*s.op, o.shape);
      tasks.push_back({s, {.name = "as asked", .shape = o.shape, .cache = Cache::hot}});
      continue;
    }
    for (const BenchShape& b : s.op->bench) {
      sizes.push_back(b.name);
      if (!o.largest && lower(b.name).find(lower(o.size)) != std::string::npos) tasks.push_back({s, b});
    }
    if (!o.largest || s.op->bench.empty()) continue;
    const auto work = [&](const BenchShape& b) {
      const Cost cost = s.op->op.cost(b.shape);
      return cost.flops + cost.bytes;
    };
    tasks.push_back({s, *std::ranges::max_element(s.op->bench, {}, work)});
  }
  if (tasks.empty()) {
    if (!o.size.empty()) {
      std::string there;
      for (const std::string& size : sizes) there += (there.empty() ? "" : "; ") + size;
      throw NotFound(not_found_text("size", o.size, sizes) + "\nThere are: " + there);
    }
    throw std::invalid_argument("nothing to time: the selected ops have no sizes; give one with --shape");
  }
  return tasks;
}

BenchOptions bench_options(const Options& o, Progress& progress) {
  BenchOptions b;
  b.rounds = o.rounds > 0 ? o.rounds : o.quick ? 5 : 15;
  if (o.quick && o.backend == "cuda") b.check_work = 1e7;  // GPU time is limited, and the reference is slow
  if (o.quick) {
    b.sample_seconds = 0.008;
    b.ladder_seconds = 10;
  }
  b.threads = settings().threads;
  b.seed = settings().seed;
  b.full_check = true;
  b.stop = interrupted;
  b.progress = [&progress](const std::string& what, int round, int rounds) {
    progress.show(rounds == 0 ? what + ", all patterns, once for this build"
                              : fmt::format("timing {}: round {} of {}", what, round + 1, rounds));
  };
  return b;
}

/// Returns the tasks at every value of the sweep. If several sizes of an op were chosen, the first is swept.
std::vector<Task> swept(const std::vector<Task>& tasks, const std::string& text) {
  const Sweep sweep = parse_sweep(text);
  std::vector<Task> all;
  const LabOp* last = nullptr;
  for (const Task& task : tasks) {
    if (sweep.dimension == "threads") {
      for (const int64_t threads : sweep.values) {
        if (threads > 4096) throw std::invalid_argument("--sweep: at most 4096 threads");
        all.push_back({task.what, task.shape, int(threads)});
      }
      continue;
    }
    if (task.what.op == last) continue;
    last = task.what.op;
    for (const BenchShape& shape : shapes_of(sweep, task.what.op->op, task.shape))
      all.push_back({task.what, shape});
  }
  return all;
}

/// Returns the plan for sessions. A shape given by hand has no name to look it up by later, so its numbers
/// are kept.
SessionPlan plan_of(const std::vector<Task>& tasks, const Options& o) {
  SessionPlan plan;
  if (o.rounds > 0) plan.rounds = o.rounds;
  plan.seed = settings().seed;
  for (const Task& task : tasks) {
    std::vector<std::string> ids;
    for (const Variant* v : with_company(task.what, o.backend)) ids.push_back(v->id);
    plan.tasks.push_back({.op = task.what.op->op.name,
                          .shape = task.shape,
                          .threads = task.threads > 0 ? task.threads : settings().threads,
                          .variants = ids});
  }
  return plan;
}

/// Returns counts of the tasks' CUDA variants if there is no GPU to time them on.
Recording counted_by(const std::vector<Task>& tasks) {
  Recording counted;
  std::vector<std::string> ids;
  for (const Task& task : tasks)
    for (const Variant* v : task.what.variants) ids.push_back(v->id);
  append_counts(counted, ids);
  return counted;
}

void print_counts(const Recording& counted) {
  std::map<std::string, std::vector<Row>> by_op;
  for (const Row& row : counted.rows) by_op[row.op].push_back(row);
  for (const auto& [op, rows] : by_op) fmt::print("\n{}", counts_text(rows));
}

int run(const Options& o) {
  if (!o.plan.empty()) return run_planned_session(o.plan, o.session, o.out);
  auto tasks = tasks_of(select(o.what, o.backend), o);
  if (!o.sweep.empty()) tasks = swept(tasks, o.sweep);
  if (!o.baseline.empty()) return record_baseline(plan_of(tasks, o), o.baseline, o.sessions);
  if (!o.out.empty()) require_writable(o.out);
  watch_interrupt();
  if (!o.json) fmt::print("{}", noise_text());
  if (!o.json && o.quick)
    fmt::print("note      --quick takes few and short rounds: klab compare decides little on them\n");
  Progress progress;
  progress.show("measuring what this machine can do at most");
  const Machine& machine = this_machine();
  // The ladder of a GPU needs none of the processor's ceilings.
  const bool of_processor = o.backend != "cuda" || !this_host().gpu;
  const Ceilings& limits = of_processor ? ceilings({.quick = o.quick}) : Ceilings();
  progress.clear();
  const int threads = settings().threads > 0 ? settings().threads : machine.threads;
  if (!o.json && of_processor) fmt::print("{}", ceilings_text(limits, threads));
  Recording recording;
  bool wrong = false;
  size_t done = 0;
  for (const Task& task : tasks) {
    if (interrupted()) break;
    progress.show(fmt::format("checking {}, {}", task.what.op->op.name, task.shape.name));
    const auto list = with_company(task.what, o.backend);
    BenchOptions options = bench_options(o, progress);
    if (task.threads > 0) options.threads = task.threads;
    const Ladder ladder = bench(*task.what.op, task.shape, list, options);
    progress.clear();
    const auto rows = rows_of(*task.what.lab, ladder, machine);
    wrong = wrong || any_wrong(rows);
    const bool any = std::any_of(rows.begin(), rows.end(), [](const Row& r) { return !r.seconds.empty(); });
    if (!ladder.complete && !any) break;
    if (!o.json) fmt::print("\n{}", ladder_text(ladder, rows));
    std::fflush(stdout);
    recording.rows.insert(recording.rows.end(), rows.begin(), rows.end());
    done += ladder.complete ? 1 : 0;
  }
  recording.complete = done == tasks.size();
  if (recording.complete && o.sweep.empty() && o.shape.empty()) {
    const Recording counted = counted_by(tasks);
    wrong = wrong || any_wrong(counted.rows);
    if (!o.json) print_counts(counted);
    recording.rows.insert(recording.rows.end(), counted.rows.begin(), counted.rows.end());
  }
  if (!o.sweep.empty() && !o.json) fmt::print("\n{}", sweep_text(recording.rows));
  if (o.json) fmt::print("{}\n", to_json(recording, machine, limits).dump(2));
  if (!o.out.empty() && !recording.rows.empty()) write_run(o.out, recording, machine, limits);
  if (!recording.complete) {
    std::fflush(stdout);
    fmt::print(stderr, "klab: interrupted: {} of {} ladders are complete{}\n", done, tasks.size(),
               interrupted_text(recording, o.out));
    return exit_interrupted;
  }
  if (!o.out.empty() && !o.json) fmt::print("\n{} rows are in {}\n", recording.rows.size(), o.out);
  return wrong ? exit_failed : exit_ok;
}

KLAB_COMMAND(
    {.name = "bench",
     .summary = "Time ladders, in rounds, against the ceilings of this machine",
     .details =
         "WHAT is a lab, an op, a variant or a glob. Next to a variant its first rung, its parent and the\n"
         "peers are timed, since its speedups are counted from them. Every figure is a median; ± is the\n"
         "farther end of its 95 % interval. Exit code 0: timed; 1: a variant failed its check and was not\n"
         "timed, or its time is below what this machine can do; 2: bad input, or other work left --baseline "
         "no usable\n"
         "session; 130: interrupted, what was complete is written.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("what", o->what, "lab, op, variant or glob (default: everything)")
           ->option_text("[WHAT ...]");
       app.add_option("--backend", o->backend, "only this one: cpu, cuda or simt");
       app.add_option("--out", o->out, "write rows to this file, .csv or .json");
       add_number(app, "--rounds", o->rounds, range::rounds, "rounds (default: 15, quick: 5)");
       app.add_flag("--quick", o->quick, "fewer and shorter samples");
       add_shape(app, o->shape, "this shape, e.g. 1024,1024,1024");
       auto* size = app.add_option("--size", o->size, "only sizes whose name contains this");
       app.add_flag("--largest", o->largest, "of each op only the size with the most work")->excludes(size);
       add_json(app, o->json, {{"bench", ""}});
       add_json_file(app, "bench", "--out FILE.json");
       app.add_option("--sweep", o->sweep,
                      "many sizes or threads: n=2^10..2^24, size=64..1024, threads=1..8");
       app.add_option("--baseline", o->baseline, "keep as a baseline of this name, for klab regress");
       add_number(app, "--sessions", o->sessions, range::baseline_sessions,
                  "processes that measure a baseline (default: 16)");
       app.add_option("--plan", o->plan)->group("");
       add_number(app, "--session", o->session, range::session_number, "")->group("");
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::bench_command
