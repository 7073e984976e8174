// klab check: does every variant compute what its contract says?
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/check/check.h"
#include "harness/check/failure_json.h"
#include "harness/check/failure_text.h"
#include "harness/check/thread_races.h"
#include "harness/cli/boundary_run.h"
#include "harness/cli/check_apart.h"
#include "harness/cli/check_memory.h"
#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/cli/mutation_run.h"
#include "harness/cli/number_option.h"
#include "harness/cli/shape_option.h"
#include "harness/core/select.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"

namespace klab::check_command {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> what;
  std::string backend;
  std::vector<int64_t> shape;
  bool json = false;
  bool quick = false;
  bool triples = false;
  bool apart = false;
  bool remember = false;
  bool again = false;
  bool boundaries = false;
  std::vector<std::string> mutants;
  int most = 0;
  double limit = 120;
  std::string notes;  // of a process that check_ops() has started: where it keeps its notes
};

/// JSON has no infinity and no NaN; nlohmann writes null for them, which is what a reader should see.
Json as_json(const CheckResult& r) {
  Json j = {
      {"variant", r.variant},     {"verdict", r.passed() ? "ok" : r.failures.empty() ? "skipped" : "failed"},
      {"cases", r.cases},         {"skipped_cases", r.skipped_cases},
      {"worst", r.worst},         {"seconds", r.seconds},
      {"failures", Json::array()}};
  if (!r.note.empty()) j["note"] = r.note;
  if (!r.skipped.empty()) j["skipped"] = r.skipped;
  for (const Failure& f : r.failures) j["failures"].emplace_back(to_json(f));
  return j;
}

void print_failure(const Failure& f) {
  fmt::print("    {}\n", inked(where_text(f), Ink::red));
  for (const auto& [name, text] : failure_fields(f)) fmt::print("      {:<9} {}\n", name, text);
}

/// One line a variant. A share of 1 is an error as large as its bound.
void print_result(const CheckResult& r, int width) {
  const std::string name = fmt::format("  {:<{}}", r.variant, width);
  if (!r.failures.empty()) {
    fmt::print("{}  {}  {:>5} cases\n", name, inked("FAILED ", Ink::red), r.cases);
    for (const Failure& f : r.failures) print_failure(f);
  } else if (r.passed()) {
    fmt::print("{}  {}  {:>5} cases  worst {:5.3f} of its bound  {:>7}", name, inked("ok     ", Ink::green),
               r.cases, r.worst, r.seconds > 0 ? seconds_text(r.seconds) : "");
    if (r.skipped_cases > 0) fmt::print("  {} shapes skipped", r.skipped_cases);
    fmt::print("{}{}\n", r.note.empty() ? "" : "  ", inked(r.note, Ink::dim));
  } else {
    fmt::print("{}  {}  {}\n", name, inked("skipped", Ink::yellow),
               r.skipped.empty() ? "no shape of the lab's list is legal and cheap enough" : r.skipped);
  }
  std::fflush(stdout);
}

/// What a process does that check_ops() has started.
int answer(const Options& o) {
  work_for_another(o.notes);
  Json all = Json::array();
  for (const Selected& s : select(o.what, o.backend)) {
    const OpCheck results = check(*s.op, s.variants,
                                  {.seed = settings().seed,
                                   .shape = o.shape,
                                   .quick = o.quick,
                                   .triples = o.triples,
                                   .backend = o.backend,
                                   .done = {}});
    for (const CheckResult& r : results.variants) all.push_back(as_json(r));
    if (results.reference) all.push_back(as_json(*results.reference));
  }
  send_answer(Json{{"variants", all}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  return exit_ok;
}

int run(const Options& o) {
  load_watched_rungs();  // here, so that no variant is blamed for a module that is missing
  if (!o.notes.empty()) return answer(o);
  if (!o.mutants.empty()) {
    if (!o.what.empty() || !o.shape.empty() || o.quick || o.apart || o.remember || o.boundaries)
      throw std::invalid_argument(
          "--mutants takes what is to be mutated, and only --backend, --most, --json with it");
    return run_mutants({.what = o.mutants, .backend = o.backend, .most = o.most, .json = o.json});
  }
  if (o.most > 0) throw std::invalid_argument("--most goes with --mutants");
  if (o.boundaries) {
    if (!o.shape.empty() || o.quick || o.triples || o.apart || o.remember)
      throw std::invalid_argument(
          "--boundaries counts the cases of whole checks, usual and quick: only --backend and --json go with "
          "it");
    return run_boundaries({.what = o.what, .backend = o.backend, .json = o.json});
  }
  if (o.again && !o.remember) throw std::invalid_argument("--again goes with --remember");
  if (o.remember && o.backend == "cuda")
    throw std::invalid_argument(
        "--remember knows the code that runs on the host, not that of --backend cuda");
  auto selection = select(o.what, o.backend);
  if (o.apart) selection = one_by_one(selection);
  if (!o.shape.empty())
    for (const Selected& s : selection) require_shape(*s.op, o.shape);
  int width = 0;
  for (const Selected& s : selection)
    for (const Variant* v : s.variants) width = std::max(width, int(v->id.size()));
  int ok = 0, failed = 0, skipped = 0;
  std::string failures;  // printed again at the end, where a long output is read first
  Json all = Json::array();
  Progress progress;
  const auto begin = Clock::now();
  const CheckOptions options{.seed = settings().seed,
                             .shape = o.shape,
                             .quick = o.quick,
                             .triples = o.triples,
                             .backend = o.backend,
                             .done = {}};
  std::optional<CheckMemory> memory;
  if (o.remember) {
    memory.emplace(passed_checks_file(), code_of_this_program(), options, o.again);
    std::erase_if(selection, [&](const Selected& s) { return memory->passed_before(s); });
  }
  const auto show = [&](size_t k) {
    if (k < selection.size())
      progress.show(fmt::format("checking {} variants of {} ({} of {})", selection[k].variants.size(),
                                selection[k].op->op.name, k + 1, selection.size()));
  };
  const auto say = [&](size_t k, const OpCheck& results, double seconds) {
    const Selected& s = selection[k];
    if (memory)
      memory->keep(s, results);
    else
      forget_failed(s, results, options);
    progress.clear();
    const bool undefined = s.op->nan_in.empty() && s.op->infinity_in.empty();
    if (!o.json && (!o.apart || k == 0 || selection[k - 1].op != s.op))
      fmt::print("{}  {}\n", inked(s.op->op.name, Ink::bold),
                 inked(fmt::format("{}, {}{}", s.lab->id, seconds_text(seconds),
                                   undefined ? "; NaN and infinities are undefined inputs, not tried" : ""),
                       Ink::dim));
    std::vector<CheckResult> lines = results.variants;
    if (results.reference && !o.apart) lines.push_back(*results.reference);
    for (const CheckResult& r : lines) {
      ++(!r.failures.empty() ? failed : r.passed() ? ok : skipped);
      if (!r.failures.empty()) failures += fmt::format("  {}: {}\n", r.variant, failure_text(r.failures[0]));
      if (o.json)
        all.push_back(as_json(r));
      else
        print_result(r, width);
    }
    show(k + 1);
  };
  show(0);
  check_ops(selection, options, o.limit, say);
  progress.clear();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (o.json) {
    Json out = {
        {"ok", ok}, {"failed", failed}, {"skipped", skipped}, {"seconds", seconds}, {"variants", all}};
    if (memory) out["passed_before"] = memory->variants();
    fmt::print("{}\n", with_schema("check", out).dump(2));
  } else {
    if (failed > 0) fmt::print("{}\n{}", inked("Failed:", Ink::red), failures);
    fmt::print("{} checked: {} ok, {} failed, {} skipped in {}\n", ok + failed + skipped, ok, failed, skipped,
               seconds_text(seconds));
    if (memory && memory->variants() > 0)
      fmt::print("passed before: {} variants (--again forgets)\n", memory->variants());
  }
  if (memory && !memory->problem().empty())
    fmt::print(stderr, "klab: what passed is not remembered: {}\n", memory->problem());
  return failed > 0 ? exit_failed : exit_ok;
}

KLAB_COMMAND(
    {.name = "check",
     .summary = "Check variants against the double-precision reference",
     .details =
         "WHAT is a lab (05, 05_matmul, matmul), an op, a variant, or a glob over ids ('*.cpu.01_*').\n"
         "Each op is checked in a process of its own: a kernel that ends or blocks it has failed, and the "
         "others go on.\n"
         "Exit code 0: all that ran passed; 1: some failed; 2: nothing is called that. With --mutants: 0. "
         "With "
         "--boundaries 1: a side is met by no case.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("what", o->what, "lab, op, variant or glob (default: everything)")
           ->option_text("[WHAT ...]");
       app.add_option("--backend", o->backend, "only this one: cpu, cuda or simt");
       add_shape(app, o->shape, "only this shape, e.g. 17,33,1");
       app.add_flag("--quick", o->quick, "random inputs only");
       app.add_flag("--triples", o->triples,
                    "every combination of three conditions: residues of sizes, parameters, alignment");
       app.add_flag("--apart", o->apart, "each variant in a process of its own");
       app.add_flag("--remember", o->remember,
                    "leave out ops that passed before: same code, contract, checker, machine and seed");
       app.add_flag("--again", o->again, "with --remember: forget what passed, check everything");
       app.add_option("--mutants", o->mutants,
                      "small changes to the source of these ops or variants, each compiled and checked "
                      "apart: what survives?")
           ->option_text("WHAT ...");
       add_number(app, "--most", o->most, range::examples,
                  "with --mutants: number of them for a variant, drawn by --seed");
       app.add_flag(
           "--boundaries", o->boundaries,
           "runs no variant: which sides of the contracts' boundaries do the inputs of a check meet?");
       add_number(app, "--limit", o->limit, range::stage_seconds,
                  "seconds that one call of a kernel may take before it counts as endless (default 120)");
       add_json(app, o->json, {{"check", ""}, {"mutants", "--mutants WHAT"}});
       app.add_option("--notes", o->notes)->group("");  // between processes of klab
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::check_command
