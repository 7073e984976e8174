// klab bench: times ladders and records them.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/bench.h"
#include "harness/cli/command.h"
#include "harness/cli/ladder_text.h"
#include "harness/select.h"
#include "harness/table.h"

namespace klab {
namespace {

struct Options {
  std::vector<std::string> what;
  std::string backend;
  std::string out;
  int rounds = 0;
  bool quick = false;
  bool json = false;
  std::vector<int64_t> shape;
  std::string size;
};

struct Task {
  Selected what;
  BenchShape shape;
};

std::string lower(std::string text) {
  for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// What is asked for, and beside it what its speedups are counted from: first rung, parent, peers.
std::vector<const Variant*> with_company(const Selected& s) {
  const auto asked = [&](const Variant* v) {
    return std::find(s.variants.begin(), s.variants.end(), v) != s.variants.end();
  };
  std::vector<const Variant*> list;
  for (const Variant* v : variants_of(s.op->op.name)) {
    bool needed = asked(v) || v->peer;
    for (const Variant* a : s.variants) needed = needed || naive_of(*a) == v || a->parent == v->id;
    if (needed) list.push_back(v);
  }
  return list;
}

std::vector<Task> tasks_of(const std::vector<Selected>& selection, const Options& o) {
  std::vector<Task> tasks;
  std::vector<std::string> sizes;
  for (const Selected& s : selection) {
    const Op& op = s.op->op;
    if (!o.shape.empty()) {
      if (o.shape.size() != op.dims.size()) {
        std::string dims;
        for (const std::string& d : op.dims) dims += (dims.empty() ? "" : ",") + d;
        throw std::invalid_argument(fmt::format("--shape has {} numbers but {} takes {} ({})", o.shape.size(),
                                                op.name, op.dims.size(), dims));
      }
      if (!op.valid(o.shape))
        throw std::invalid_argument(fmt::format("--shape is not legal for {}", op.name));
      tasks.push_back({s, {.name = "as asked", .shape = o.shape, .cache = Cache::hot}});
      continue;
    }
    for (const BenchShape& b : s.op->bench) {
      sizes.push_back(b.name);
      if (lower(b.name).find(lower(o.size)) != std::string::npos) tasks.push_back({s, b});
    }
  }
  if (tasks.empty()) {
    if (!o.size.empty()) throw NotFound(not_found_text("size", o.size, sizes));
    throw std::invalid_argument("nothing to time: the selected ops have no sizes; give one with --shape");
  }
  return tasks;
}

BenchOptions bench_options(const Options& o, Progress& progress) {
  BenchOptions b;
  b.rounds = o.rounds > 0 ? o.rounds : o.quick ? 5 : 15;
  if (o.quick) {
    b.sample_seconds = 0.008;
    b.ladder_seconds = 10;
  }
  b.threads = settings().threads;
  b.seed = settings().seed;
  b.stop = interrupted;
  b.progress = [&progress](const std::string& what, int round, int rounds) {
    progress.show(fmt::format("timing {}: round {} of {}", what, round + 1, rounds));
  };
  return b;
}

int run(const Options& o) {
  const auto tasks = tasks_of(select(o.what, o.backend), o);
  if (!o.out.empty()) require_writable(o.out);
  watch_interrupt();
  Progress progress;
  progress.show("measuring what this machine can do at most");
  const Machine& machine = this_machine();
  const Ceilings& limits = ceilings({.quick = o.quick});
  progress.clear();
  const int threads = settings().threads > 0 ? settings().threads : machine.threads;
  if (!o.json) fmt::print("{}", ceilings_text(limits, threads));
  Recording recording;
  bool wrong = false;
  size_t done = 0;
  for (const Task& task : tasks) {
    if (interrupted()) break;
    progress.show(fmt::format("checking {}, {}", task.what.op->op.name, task.shape.name));
    const auto list = with_company(task.what);
    const Ladder ladder = bench(*task.what.op, task.shape, list, bench_options(o, progress));
    progress.clear();
    const auto rows = rows_of(*task.what.lab, ladder, machine);
    wrong = wrong || any_wrong(rows);
    const bool any = std::any_of(rows.begin(), rows.end(), [](const Row& r) { return !r.seconds.empty(); });
    if (!ladder.complete && !any) break;
    if (!o.json) fmt::print("\n{}", ladder_text(*task.what.op, ladder, rows));
    std::fflush(stdout);
    recording.rows.insert(recording.rows.end(), rows.begin(), rows.end());
    done += ladder.complete ? 1 : 0;
  }
  recording.complete = done == tasks.size();
  if (o.json) fmt::print("{}\n", to_json(recording, machine, limits).dump(2));
  if (!o.out.empty() && !recording.rows.empty()) write_run(o.out, recording, machine, limits);
  if (!recording.complete) {
    std::fflush(stdout);
    fmt::print(stderr, "klab: interrupted: {} of {} ladders are complete{}\n", done, tasks.size(),
               o.out.empty()            ? ""
               : recording.rows.empty() ? ", nothing was written"
                                        : fmt::format(", {} rows are in {}", recording.rows.size(), o.out));
    return exit_interrupted;
  }
  if (!o.out.empty() && !o.json) fmt::print("\n{} rows are in {}\n", recording.rows.size(), o.out);
  return wrong ? exit_failed : exit_ok;
}

KLAB_COMMAND(
    {.name = "bench",
     .summary = "Time ladders, in rounds, against the ceilings of this machine",
     .details =
         "WHAT is a lab, an op, a variant or a glob. Beside a variant its first rung, its parent and the\n"
         "peers are timed, since its speedups are counted from them. Every figure is a median; ± is the\n"
         "farther end of its 95 % interval. Exit code 0: timed; 1: a variant failed its check and was not\n"
         "timed; 2: bad input; 130: interrupted, what was complete is written.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("what", o->what, "lab, op, variant or glob (default: everything)")
           ->option_text("[WHAT ...]");
       app.add_option("--backend", o->backend, "only this one: cpu, cuda or simt");
       app.add_option("--out", o->out, "write rows to this file, .csv or .json");
       app.add_option("--rounds", o->rounds, "rounds (default: 15, quick: 5)")->check(CLI::Range(1, 100000));
       app.add_flag("--quick", o->quick, "fewer and shorter samples");
       app.add_option("--shape", o->shape, "this shape, e.g. 1024,1024,1024")->delimiter(',');
       app.add_option("--size", o->size, "only sizes whose name contains this");
       app.add_flag("--json", o->json, "for programs");
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab
