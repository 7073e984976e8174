// klab regress: measures, compares with a baseline, and keeps measuring while the verdict is open.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <map>
#include <set>

#include "harness/cli/command.h"
#include "harness/cli/ladder_text.h"
#include "harness/cli/number_option.h"
#include "harness/cli/recorded.h"
#include "harness/core/select.h"
#include "harness/records/counts.h"
#include "harness/report/table.h"

namespace klab::regress_command {
namespace {

struct Options {
  std::vector<std::string> what;
  std::string backend;
  std::string against = "baseline";
  int sessions = 0;
  double minutes = 3;
  std::string out;
  JudgeOptions judge;
};

using Clock = std::chrono::steady_clock;

/// Measures session by session. A variant that is decided at a look is not measured again, and keeps its
/// verdict.
class Regression {
 public:
  Regression(const Options& o, const Recording& base, std::vector<std::string> only)
      : o_(o), base_(base), plan_(plan_of(base)), begin_(Clock::now()) {
    int sessions = 0;
    size_t rounds = 1;
    for (const Row& row : base.rows) {
      sessions = std::max(sessions, row.session);
      rounds = std::max(rounds, row.seconds.size());
    }
    limit_ = o.sessions > 0 ? o.sessions : std::max(sessions, 8);
    plan_.rounds = int(rounds);
    plan_.call_cap_seconds *=
        8;  // variants that were fast enough for the baseline are measured even if they are slower now
    plan_.seed = settings().seed + 1000;
    plan_.check = true;
    options_.verdict.threshold = o.judge.fraction();
    looks_ = {std::max(1, limit_ / 2), std::max(1, limit_ * 3 / 4), limit_};
    options_.verdict.looks = int(looks_.size());
    options_.only = std::move(only);
  }

  /// Returns null if interrupted before the first look.
  const CompareResult* run() {
    Progress progress;
    std::vector<std::string> counted;
    for (const Row& row : base_.rows)
      if (!row.counts.empty()) counted.push_back(row.variant);
    progress.show("counting");
    append_counts(fresh_, counted);
    for (int session = 1; session <= limit_ && !plan_.tasks.empty(); ++session) {
      if (late(session)) break;
      progress.show(fmt::format("session {} of at most {}: {} ladders", session, limit_, plan_.tasks.size()));
      Recording more = run_session_apart(plan_, session);
      if (interrupted() || !more.complete) return nullptr;
      append(fresh_, std::move(more));
      plan_.check = false;
      done_ = session;
      if (looks_.count(session) != 0) look(progress);
    }
    if (done_ != looked_ || done_ == 0) look(progress);
    return &result_;
  }

  const Recording& rows() const { return fresh_; }
  int sessions() const { return done_; }
  bool out_of_time() const { return done_ < limit_ && !plan_.tasks.empty(); }

 private:
  /// Returns whether another session would probably exceed the time limit.
  bool late(int session) const {
    const double spent = std::chrono::duration<double>(Clock::now() - begin_).count();
    return session > 1 && spent + spent / (session - 1) > 60 * o_.minutes;
  }

  void look(Progress& progress) {
    looked_ = done_;
    result_ = compare_runs(base_, fresh_, options_);
    std::set<std::string> open;
    for (Change& c : result_.changes) {
      const std::string key = key_of(c);
      if (const auto at = decided_.find(key); at != decided_.end())
        c = at->second;
      else if (!c.failed.empty() || c.judgement.verdict != Verdict::undecided)
        decided_.emplace(key, c);
      else
        open.insert(key);
    }
    narrow(open);
    progress.show(fmt::format("after {} sessions: {}", done_, change_summary(result_)));
  }

  /// Drops ladders without open variants, and from the others all variants that are neither open nor an
  /// anchor.
  void narrow(const std::set<std::string>& open) {
    std::vector<SessionTask> tasks;
    for (SessionTask& task : plan_.tasks) {
      std::vector<std::string> keep;
      bool any = false;
      for (const std::string& id : task.variants) {
        const Variant* v = find_variant(id);
        bool is_open = false;
        for (const Row& row : fresh_.rows)
          is_open = is_open || (row.variant == id && row.op == task.op && row.size == task.shape.name &&
                                row.threads == task.threads && open.count(key_of(row)) != 0);
        any = any || is_open;
        if (is_open || (v != nullptr && (v->peer || naive_of(*v) == v))) keep.push_back(id);
      }
      task.variants = std::move(keep);
      if (any) tasks.push_back(std::move(task));
    }
    plan_.tasks = std::move(tasks);
  }

  const Options& o_;
  const Recording& base_;
  SessionPlan plan_;
  Clock::time_point begin_;
  ComparisonOptions options_;
  std::set<int> looks_;
  int limit_ = 0, done_ = 0, looked_ = 0;
  Recording fresh_;
  CompareResult result_;
  std::map<std::string, Change> decided_;
};

/// Returns the rows of the requested ladders; sets `only` to the requested variants.
Recording selected_rows(const Recording& base, const Options& o, std::vector<std::string>& only) {
  if (o.what.empty() && o.backend.empty()) return base;
  std::set<std::string> ops;
  for (const Selected& s : select(o.what, o.backend)) {
    ops.insert(s.op->op.name);
    for (const Variant* v : s.variants) only.push_back(v->id);
  }
  Recording part;
  for (const Row& row : base.rows)
    if (ops.count(row.op) != 0) part.rows.push_back(row);
  if (part.rows.empty())
    throw std::invalid_argument(
        fmt::format("the baseline '{}' holds nothing of what is asked for", o.against));
  return part;
}

int run(const Options& o) {
  o.judge.fraction();
  if (!o.out.empty()) require_writable(o.out);
  const std::string file = rows_file_of(o.against);
  std::vector<std::string> only;
  const Recording base = selected_rows(read_csv(file), o, only);
  int sessions = 0;
  for (const Row& row : base.rows) sessions = std::max(sessions, row.session);
  if (sessions < 4)
    throw std::invalid_argument(
        fmt::format("{} was measured by {} process{}; a baseline needs at least 4, so that one can tell how "
                    "much processes "
                    "differ: klab bench WHAT --baseline NAME",
                    file, sessions, sessions == 1 ? "" : "es"));
  watch_interrupt();
  if (!o.judge.json && !o.judge.markdown) fmt::print("{}", noise_text());
  Regression regression(o, base, std::move(only));
  const CompareResult* result = regression.run();
  if (!o.out.empty() && !regression.rows().rows.empty()) {
    Recording rows = regression.rows();
    rows.complete = result != nullptr;
    write_run(o.out, rows, this_machine(), {});
  }
  if (result == nullptr) {
    fmt::print(stderr, "klab: interrupted before a verdict\n");
    return exit_interrupted;
  }
  if (!o.judge.json && !o.judge.markdown)
    fmt::print(
        "{} sessions{}, against {}\n", regression.sessions(),
        regression.out_of_time() ? fmt::format(" (stopped after {:.3g} minutes, --minutes)", o.minutes) : "",
        o.against);
  return show(*result, o.judge);
}

KLAB_COMMAND({.name = "regress",
              .summary = "Measure now and compare with a baseline: a gate for merges",
              .details = "WHAT is a lab, an op, a variant or a glob; default: all that the baseline holds. "
                         "It measures in sessions, a\n"
                         "process each, judges at half, three quarters and all of them, and measures on only "
                         "what is undecided.\n"
                         "Make a baseline with: klab bench WHAT --baseline NAME. Exit code 0: none slower; "
                         "1: some slower, or wrong;\n"
                         "2: nothing could be decided, or bad input.",
              .setup = [](CLI::App& app) -> std::function<int()> {
                auto o = std::make_shared<Options>();
                app.add_option("what", o->what, "lab, op, variant or glob")->option_text("[WHAT ...]");
                app.add_option("--backend", o->backend, "only this one: cpu, cuda or simt");
                app.add_option("--against", o->against, "baseline, by name or file (default: baseline)");
                add_number(app, "--sessions", o->sessions, range::sessions,
                           "measure at most so many (default: as the baseline)");
                add_number(app, "--minutes", o->minutes, range::minutes,
                           "begin no session that would end later (default: 3)");
                app.add_option("--out", o->out, "write the new rows to this file, .csv or .json");
                add_judge_options(app, o->judge);
                return [o] { return run(*o); };
              }});

}  // namespace
}  // namespace klab::regress_command
