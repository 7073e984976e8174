// klab run: the tour. Each lab is checked and timed briefly, and says where to read on.
#include <fmt/core.h>

#include <algorithm>

#include "harness/bench.h"
#include "harness/check.h"
#include "harness/cli/command.h"
#include "harness/cli/ladder_text.h"
#include "harness/select.h"
#include "harness/table.h"

namespace klab {
namespace {

constexpr double kHuge = 1e10;  // FLOP or bytes of a shape that a tour leaves to `klab bench`

/// Random inputs at the lab's sizes; prints a line, and each failure. Returns the variants that passed or
/// could not be run there.
std::vector<const Variant*> check_quickly(const LabOp& op, Progress& progress, bool& failed) {
  const auto all = variants_of(op.op.name);
  progress.show(fmt::format("checking {}", op.op.name));
  const auto results =
      check(op, all, {.seed = settings().seed, .max_failures = 1, .quick = true, .done = {}});
  progress.clear();
  std::vector<const Variant*> good;
  int passed = 0, cases = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const CheckResult& r = results[i];
    cases += r.cases;
    passed += r.passed() ? 1 : 0;
    if (r.failures.empty()) {
      // A backward op's results end with one more, of the reference itself.
      if (i < all.size()) good.push_back(all[i]);
      continue;
    }
    failed = true;
    const Failure& f = r.failures.front();
    fmt::print("  {}  {}: {} in {}{}, expected {}, got {} ({})\n", r.variant, inked("FAILED", Ink::red),
               name_of(f.fault), f.tensor, f.index, f.expected, f.got, f.inputs);
  }
  fmt::print("{}\n", inked(fmt::format("{}: {} of {} checks agree with the reference, in {} cases",
                                       op.op.name, passed, results.size(), cases),
                           passed == int(results.size()) ? Ink::dim : Ink::yellow));
  return good;
}

std::vector<BenchShape> shapes_of(const LabOp& op, bool tour) {
  std::vector<BenchShape> list;
  for (const BenchShape& b : op.bench) {
    const Cost cost = op.op.cost(b.shape);
    if (tour ? b.tour : std::max(cost.flops, cost.bytes) <= kHuge) list.push_back(b);
  }
  return list;
}

void run_op(const Lab& lab, const LabOp& op, bool tour, Progress& progress, bool& failed) {
  const auto good = check_quickly(op, progress, failed);
  BenchOptions options;
  options.rounds = tour ? 5 : 9;
  options.sample_seconds = 0.008;
  options.ladder_seconds = tour ? 3 : 10;
  options.threads = settings().threads;
  options.seed = settings().seed;
  options.stop = interrupted;
  options.progress = [&progress](const std::string& what, int round, int rounds) {
    progress.show(fmt::format("timing {}: round {} of {}", what, round + 1, rounds));
  };
  for (const BenchShape& shape : shapes_of(op, tour)) {
    if (interrupted() || good.empty()) return;
    progress.show(fmt::format("checking {}, {}", op.op.name, shape.name));
    const Ladder ladder = bench(op, shape, good, options);
    progress.clear();
    if (!ladder.complete) return;
    const auto rows = rows_of(lab, ladder, this_machine());
    failed = failed || any_wrong(rows);
    fmt::print("{}", ladder_text(op, ladder, rows));
    std::fflush(stdout);
  }
}

int run(const std::string& what) {
  const bool tour = what.empty();
  std::vector<std::string> names;
  if (!tour) names.push_back(what);
  const auto selection = select(names);
  watch_interrupt();
  fmt::print("{}", noise_text());
  Progress progress;
  bool failed = false;
  const Lab* before = nullptr;
  const auto close = [](const Lab* lab) {
    if (lab != nullptr)
      fmt::print("{} klab explain {}\n", inked("Read on:", Ink::bold), lab->id.substr(0, lab->id.find('_')));
  };
  for (const Selected& s : selection) {
    if (interrupted()) break;
    if (s.lab != before) {
      close(before);
      fmt::print("{}{}\n{}\n", before ? "\n" : "",
                 inked(fmt::format("{}  {}", s.lab->id, s.lab->title), Ink::bold), s.lab->question);
      before = s.lab;
    }
    run_op(*s.lab, *s.op, tour, progress, failed);
  }
  if (interrupted()) {
    fmt::print(stderr, "klab: interrupted\n");
    return exit_interrupted;
  }
  close(before);
  return failed ? exit_failed : exit_ok;
}

KLAB_COMMAND(
    {.name = "run",
     .summary = "The tour: check and time each lab briefly, or one lab at more sizes",
     .details =
         "Speedups count from the first rung (naive), the rung it was made from (parent) and the best\n"
         "library (peer). Exit code 1: a variant failed its check.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto what = std::make_shared<std::string>();
       app.add_option("lab", *what, "lab or op, e.g. 05, matmul (default: the tour through all)")
           ->option_text("[LAB]");
       return [what] { return run(*what); };
     }});

}  // namespace
}  // namespace klab
