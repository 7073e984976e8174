// klab run: the tour. Each lab is checked and timed briefly, and says where to read on.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <optional>

#include "harness/check/check.h"
#include "harness/check/failure_text.h"
#include "harness/cli/command.h"
#include "harness/cli/counts_text.h"
#include "harness/cli/json_option.h"
#include "harness/cli/ladder_text.h"
#include "harness/cli/report_file.h"
#include "harness/cli/tour_parts.h"
#include "harness/core/select.h"
#include "harness/records/counts.h"
#include "harness/report/table.h"
#include "harness/timing/bench.h"
#include "harness/timing/full_check.h"

namespace klab::run_command {
namespace {

constexpr double kHuge = 1e10;  // FLOP or bytes of a shape that is left to `klab bench`

/// Outcome of the checks of an op's variants.
struct Verdicts {
  int passed = 0, failed = 0, skipped = 0, before = 0, cases = 0;
  std::vector<std::string> wrong;  // ids

  void add(const CheckResult& r) {
    cases += r.cases;
    ++(!r.failures.empty() ? failed : r.passed() ? passed : skipped);
    if (r.failures.empty()) return;
    wrong.push_back(r.variant);
    fmt::print("  {}  {}: {}\n", r.variant, inked("FAILED", Ink::red), failure_text(r.failures.front()));
  }
  void print(const std::string& op) const {
    std::string text = fmt::format("{}: {} of {} checks agree with the reference, in {} cases", op, passed,
                                   passed + failed, cases);
    if (passed + failed == 0) text = op + ": nothing was left to check";
    if (skipped > 0) text += fmt::format("; {} cannot run here", skipped);
    if (before > 0) text += fmt::format("; {} passed before, in this build", before);
    fmt::print("{}\n", inked(text, failed == 0 ? Ink::dim : Ink::yellow));
  }
};

/// Checks each variant once: those that will be timed in full, once for a build, the others, and in the tour all, with random
/// inputs at some of the lab's sizes. Prints a line, and each failure. Returns the variants that passed or could not be run there.
std::vector<const Variant*> check_once(const LabOp& op, bool tour, std::span<const Variant* const> timed,
                                       Progress& progress, bool& failed) {
  auto good = variants_of(op.op.name);
  Verdicts verdicts;
  FullCheck full;
  if (!tour) {
    progress.show(fmt::format("checking {}, all patterns, once for this build", op.op.name));
    full = full_check(op, timed, settings().seed, interrupted);
  }
  progress.show(fmt::format("checking {}", op.op.name));
  std::vector<const Variant*> rest;
  std::ranges::copy_if(good, std::back_inserter(rest),
                       [&](const Variant* v) { return tour || std::ranges::find(timed, v) == timed.end(); });
  OpCheck quick;
  if (!rest.empty())
    quick = check(op, rest,
                  {.seed = settings().seed,
                   .max_failures = 1,
                   .quick = true,
                   .most_shapes = tour ? 12 : 0,
                   .done = {},
                   .stop = interrupted});
  progress.clear();
  if (interrupted()) return {};
  verdicts.before = full.before;
  for (const CheckResult& r : full.results) verdicts.add(r);
  for (const CheckResult& r : quick.variants) verdicts.add(r);
  if (quick.reference && full.results.empty()) verdicts.add(*quick.reference);
  verdicts.print(op.op.name);
  failed = failed || verdicts.failed > 0;
  std::erase_if(good, [&](const Variant* v) {
    return std::ranges::find(verdicts.wrong, v->id) != verdicts.wrong.end();
  });
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

/// One ladder to time.
struct Part {
  BenchShape shape;
  std::vector<const Variant*> variants;
};

/// Returns the rungs to run at the size of a branch: the branch, its ancestors up to the trunk, the first rung and the peers.
std::vector<const Variant*> rungs_at_branch(const Variant& branch, const std::vector<const Variant*>& good) {
  std::vector<const Variant*> list;
  for (const Variant* v : good) {
    bool wanted = v->peer || v == naive_of(branch);
    for (const Variant* a = &branch; a != nullptr && !wanted;
         a = a->branch() ? find_variant(a->parent) : nullptr)
      wanted = a == v;
    if (wanted) list.push_back(v);
  }
  return list;
}

/// The trunk at the lab's sizes; with the branches each of them where it pays, in one ladder where several pay there.
std::vector<Part> parts_of(const LabOp& op, bool tour, bool all, const std::vector<const Variant*>& good) {
  std::vector<Part> parts;
  for (const BenchShape& shape : shapes_of(op, tour)) {
    Part part{shape, {}};
    for (const Variant* v : good)
      if (!v->branch()) part.variants.push_back(v);
    parts.push_back(std::move(part));
  }
  if (!all) return parts;
  for (const Variant* v : good) {
    if (!v->branch()) continue;
    auto at = std::ranges::find_if(parts, [&](const Part& p) { return p.shape.shape == v->when.shape; });
    if (at == parts.end()) {
      const auto size = std::ranges::find(op.bench, v->when.shape, &BenchShape::shape);
      if (size == op.bench.end()) continue;  // the structure tests hold that there is one
      at = parts.insert(parts.end(), {*size, {}});
    }
    for (const Variant* more : rungs_at_branch(*v, good))
      if (std::ranges::find(at->variants, more) == at->variants.end()) at->variants.push_back(more);
  }
  for (Part& part : parts) std::ranges::sort(part.variants, {}, &Variant::id);
  return parts;
}

void run_op(const Lab& lab, const LabOp& op, bool tour, bool all, Progress& progress, bool& failed,
            Recording& shown) {
  std::vector<const Variant*> timed;  // on this processor
  for (const Part& part : parts_of(op, tour, all, variants_of(op.op.name, "cpu")))
    for (const Variant* v : part.variants)
      if (std::ranges::find(timed, v) == timed.end()) timed.push_back(v);
  auto good = check_once(op, tour, timed, progress, failed);
  if (!all) std::erase_if(good, [](const Variant* v) { return v->backend == "cuda" && v->branch(); });
  progress.show(fmt::format("counting {}", op.op.name));
  const std::vector<Row> counted = counted_rows(op, good);
  progress.clear();
  if (!counted.empty()) std::erase_if(good, [](const Variant* v) { return v->backend == "cuda"; });
  BenchOptions options;
  options.rounds = 9;
  options.sample_seconds = 0.008;
  options.ladder_seconds = 10;
  // All sizes were checked before; at the timed one variants are compared with one another.
  options.check_work = 1e8;
  if (tour) {  // two minutes for all ops together
    options.tries = 0.1;
    options.fewest_rounds = 3;
    options.sample_seconds = 0.004;
    options.ladder_seconds = 1;
    options.check_work = 1e7;
    options.cold_caches = 2;
  }
  options.threads = settings().threads;
  options.seed = settings().seed;
  options.stop = interrupted;
  options.progress = [&progress](const std::string& what, int round, int rounds) {
    progress.show(fmt::format("timing {}: round {} of {}", what, round + 1, rounds));
  };
  for (const auto& [shape, list] : parts_of(op, tour, all, good)) {
    if (interrupted()) return;
    if (list.empty()) continue;  // CUDA alone, counted
    progress.show(fmt::format("checking {}, {}", op.op.name, shape.name));
    const Ladder ladder = bench(op, shape, list, options);
    progress.clear();
    const auto rows = rows_of(lab, ladder, this_machine());
    shown.complete = shown.complete && ladder.complete;
    if (!ladder.complete && std::ranges::all_of(rows, [](const Row& r) { return r.seconds.empty(); })) return;
    failed = failed || any_wrong(rows);
    shown.rows.insert(shown.rows.end(), rows.begin(), rows.end());
    fmt::print("{}", ladder_text(ladder, rows));
    std::fflush(stdout);
  }
  failed = failed || any_wrong(counted);
  shown.rows.insert(shown.rows.end(), counted.begin(), counted.end());
  fmt::print("{}", counts_text(counted));
  std::fflush(stdout);
}

/// A lab whose ladder is not made of kernels, run by itself.
int run_whole(const Lab& lab, const std::string& backend) {
  watch_interrupt();
  fmt::print("{}{}\n{}\n", noise_text(), inked(fmt::format("{}  {}", lab.id, lab.title), Ink::bold),
             lab.question);
  std::fflush(stdout);
  Progress progress;
  const bool right = ladder_of(lab)({.seed = settings().seed,
                                     .backend = backend,
                                     .stop = interrupted,
                                     .status = [&](const std::string& line) {
                                       if (line.empty())
                                         progress.clear();
                                       else
                                         progress.show(line);
                                     }});
  progress.clear();
  if (interrupted()) return exit_interrupted;
  fmt::print("{} klab explain {}\n", inked("Read on:", Ink::bold), lab.id.substr(0, lab.id.find('_')));
  return right ? exit_ok : exit_failed;
}

/// The lab of that name if it has a run of its own.
const Lab* lab_with_run(const std::string& what) {
  for (const Lab& lab : labs())
    if (ladder_of(lab) && (what == lab.id || what == lab.id.substr(0, lab.id.find('_')) ||
                           what == lab.id.substr(lab.id.find('_') + 1)))
      return &lab;
  return nullptr;
}

/// Writes rows and report, ends a tour with a line on the claims on record, and returns the exit code.
int finish(const Recording& shown, bool tour, bool failed, bool to_be_continued, const std::string& out,
           const std::string& resume) {
  if (!out.empty() && !shown.rows.empty()) write_run(out, shown, this_machine(), {});
  const std::string report = write_tour_report(shown);
  if (to_be_continued) return failed ? exit_failed : exit_ok;
  if (!report.empty()) fmt::print("{} {}\n", inked("The report of this run:", Ink::bold), report);
  if (const std::string claims = tour && shown.complete ? claims_line() : ""; !claims.empty())
    fmt::print("{}\n", claims);
  if (shown.complete) return failed ? exit_failed : exit_ok;
  std::fflush(stdout);
  fmt::print(stderr, "klab: interrupted{}{}\n", interrupted_text(shown, out), resume);
  return exit_interrupted;
}

int run(const std::string& what, const std::string& out, bool all, const std::string& backend,
        const std::string& folder) {
  if (!out.empty()) require_writable(out);
  if (const Lab* lab = lab_with_run(what)) return run_whole(*lab, backend);
  if (backend != "cpu")
    throw std::invalid_argument(fmt::format(
        "--backend {} is for labs that are programs, like hash_nerf; others show their CUDA rungs anyway",
        backend));
  const bool tour = what.empty();
  if (!tour && !folder.empty())
    throw std::invalid_argument("--parts is for the whole tour; leave out " + what);
  std::optional<TourParts> parts;
  if (!folder.empty()) parts.emplace(folder);
  std::vector<std::string> names;
  if (!tour) names.push_back(what);
  auto selection = select(names);
  if (parts) std::erase_if(selection, [&](const Selected& s) { return !parts->is_open(s.lab->id); });
  watch_interrupt();
  if (!selection.empty()) fmt::print("{}", noise_text());
  Progress progress;
  bool failed = false;  // with parts: in the present lab
  Recording shown;      // with parts: the present lab's
  const Lab* before = nullptr;
  const auto close = [&](const Lab* lab) {
    if (lab == nullptr) return;
    fmt::print("{} klab explain {}\n", inked("Read on:", Ink::bold), lab->id.substr(0, lab->id.find('_')));
    if (!parts) return;
    parts->keep(lab->id, shown.rows, failed);
    shown.rows.clear();
    failed = false;
  };
  for (const Selected& s : selection) {
    if (interrupted()) break;
    if (s.lab != before) {
      close(before);
      fmt::print("{}{}\n{}\n", before ? "\n" : "",
                 inked(fmt::format("{}  {}", s.lab->id, s.lab->title), Ink::bold), s.lab->question);
      before = s.lab;
    }
    run_op(*s.lab, *s.op, tour, all, progress, failed, shown);
  }
  shown.complete = shown.complete && !interrupted();
  if (shown.complete) close(before);
  if (!parts) return finish(shown, tour, failed, false, out, "");
  Recording joined = parts->joined(shown.rows);
  const bool stopped = !shown.complete;
  const bool to_be_continued = !stopped && !joined.complete;
  joined.complete = joined.complete && !stopped;
  return finish(joined, true, failed || parts->wrong(), to_be_continued, out,
                "; ./klab run continues with the labs that are left");
}

KLAB_COMMAND(
    {.name = "run",
     .summary = "The tour: check and time each lab briefly, or one lab at more sizes",
     .details =
         "Speedups count from the first rung (naive), the rung it was made from (parent) and the best\n"
         "library (peer). Timed is the trunk of each ladder; a branch, which pays at another size,\n"
         "is timed there with --all. Exit code 1: a variant failed its check;\n"
         "130: interrupted, what was measured until then is written and marked as a part.\n"
         "./klab run builds and runs the tour lab by lab; after an interruption it continues with the labs\n"
         "that are left. ./klab run --again starts it over.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto what = std::make_shared<std::string>();
       app.add_option("lab", *what, "lab or op, e.g. 05, matmul, hash_nerf (default: the tour through all)")
           ->option_text("[LAB]");
       auto out = std::make_shared<std::string>();
       app.add_option("--out", *out, "write rows to this file, .csv or .json");
       add_json_file(app, "bench", "--out FILE.json");
       auto all = std::make_shared<bool>(false);
       app.add_flag("--all", *all, "with the branches, each at the size where it pays");
       auto backend = std::make_shared<std::string>("cpu");
       app.add_option(
              "--backend", *backend,
              "of a lab that is a program: cpu (default), cuda, or simt, its CUDA rungs counted on the "
              "host executor")
           ->check(CLI::IsMember({"cpu", "cuda", "simt"}));
       auto folder = std::make_shared<std::string>();
       app.add_option(
           "--parts", *folder,
           "of the tour: keep each finished lab in this folder and leave out those that are there; "
           "the launcher gives it");
       return [=] { return run(*what, *out, *all, *backend, *folder); };
     }});

}  // namespace
}  // namespace klab::run_command
