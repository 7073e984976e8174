#include "harness/cli/bench_sessions.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/ladder_text.h"
#include "harness/cli/recorded.h"
#include "harness/core/source.h"
#include "harness/records/atomic_file.h"
#include "harness/records/counts.h"
#include "harness/report/table.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

}  // namespace

int run_planned_session(const std::string& plan_file, int session, const std::string& out) {
  watch_interrupt();
  const SessionPlan plan = plan_from_text(read_text(plan_file));
  Recording run = run_session(plan, session, interrupted);
  if (!run.complete) return exit_interrupted;
  if (plan.count) {
    std::vector<std::string> ids;
    for (const SessionTask& t : plan.tasks) ids.insert(ids.end(), t.variants.begin(), t.variants.end());
    append_counts(run, ids);
  }
  if (run.rows.empty())
    throw std::invalid_argument("nothing to time: this klab has none of the variants that were asked for");
  write_run(out, run, this_machine(), {});
  return any_wrong(run.rows) ? exit_failed : exit_ok;
}

int record_baseline(SessionPlan plan, const std::string& name, int sessions) {
  const Baseline baseline = baseline_of(name);
  fs::create_directories(fs::path(baseline.rows_file).parent_path());
  require_writable(baseline.rows_file);
  watch_interrupt();
  fmt::print("{}", noise_text());
  Progress progress;
  progress.show("measuring what this machine can do at most");
  const Ceilings& limits = ceilings({.quick = true});
  Recording run, counted;
  bool wrong = false;
  plan.check = true;
  const auto begin = std::chrono::steady_clock::now();
  for (int session = 1; session <= sessions; ++session) {
    progress.show(fmt::format("session {} of {}: {} ladders", session, sessions, plan.tasks.size()));
    Recording more = run_session_apart(plan, session);
    if (interrupted() || !more.complete) {
      progress.clear();
      fmt::print(stderr, "klab: interrupted after {} of {} sessions; nothing was written\n", session - 1,
                 sessions);
      return exit_interrupted;
    }
    wrong = wrong || any_wrong(more.rows);
    append(run, std::move(more));
    plan.check = false;
    // Variants that were too slow, wrong or not supported in the first session are not tried again.
    if (session > 1) continue;
    std::vector<std::string> ids;
    for (const SessionTask& t : plan.tasks) ids.insert(ids.end(), t.variants.begin(), t.variants.end());
    append_counts(counted, ids);
    wrong = wrong || any_wrong(counted.rows);
    SessionPlan timed = plan_of(run);
    for (SessionTask& t : timed.tasks) t.threads = plan.tasks.front().threads;
    plan.tasks = std::move(timed.tasks);
    if (plan.tasks.empty() && !counted.rows.empty()) break;
    if (plan.tasks.empty()) throw std::invalid_argument("nothing could be timed; klab bench WHAT says why");
  }
  progress.clear();
  append(run, std::move(counted));
  // Compare the baseline with itself, one half of its sessions with the other. This is the smallest change
  // that it can detect.
  nlohmann::json floors = nlohmann::json::array();
  double widest = 0;
  const CompareResult self = compare_runs(run, run);
  if (self.unusable_base)
    throw std::invalid_argument(fmt::format(
        "none of the {} sessions is usable: in all of them other work took the processor. Nothing was "
        "written; record the baseline on a quiet machine",
        sessions));
  int lost = 0;
  for (const Change& c : self.changes) {
    if (!c.measured) continue;  // counts have no noise
    lost += c.by_noise ? 1 : 0;
    const double floor = std::expm1(c.judgement.margin);
    widest = std::max(widest, floor);
    floors.push_back({{"variant", c.variant}, {"shape", c.shape}, {"anchor", c.anchor}, {"margin", floor}});
  }
  write_run(baseline.rows_file, run, this_machine(), limits);
  write_file(baseline.record_file, nlohmann::json{{"name", name},
                                                  {"sessions", sessions},
                                                  {"machine", to_json(this_machine())},
                                                  {"ceilings", to_json(limits)},
                                                  {"plan", nlohmann::json::parse(to_text(plan))},
                                                  {"margins", floors}}
                                           .dump(1) +
                                       "\n");
  fmt::print("{} rows of {} sessions in {:.0f} s are in {}\n", run.rows.size(), sessions,
             std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
             baseline.rows_file);
  if (floors.empty()) {
    fmt::print("no noise floor: only counts were recorded, which are compared exactly\n");
    return wrong ? exit_failed : exit_ok;
  }
  int noisy = 0;
  for (const auto& f : floors) noisy += f["margin"].get<double>() > 0.0201 ? 1 : 0;
  fmt::print("noise floor: within 2 % for {} of {} variants and sizes; the widest {:.1f} %\n",
             int(floors.size()) - noisy, floors.size(), 100 * widest);
  if (lost > 0)
    fmt::print(
        "for {} of them noise or other work leaves nothing to decide by: record the baseline again on a "
        "quiet "
        "machine\n",
        lost);
  return wrong ? exit_failed : exit_ok;
}

}  // namespace klab
