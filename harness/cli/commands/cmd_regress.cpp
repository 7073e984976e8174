// klab regress: measures, compares with a baseline, and keeps measuring while the verdict is open.
#include <fmt/core.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>

#include "harness/cli/command.h"
#include "harness/cli/gate_trials.h"
#include "harness/cli/json_option.h"
#include "harness/cli/ladder_text.h"
#include "harness/cli/number_option.h"
#include "harness/cli/quality_gate.h"
#include "harness/cli/recorded.h"
#include "harness/compare/looks.h"
#include "harness/core/names.h"
#include "harness/core/select.h"
#include "harness/records/counts.h"
#include "harness/report/table.h"

namespace klab::regress_command {
namespace {

struct Options {
  std::vector<std::string> what;
  std::string backend;
  std::string against;  // empty: "baseline", unless there is a base program
  std::string base;     // a program that is measured in turns with this one
  int sessions = 0;
  double minutes = 3;
  std::string out;
  GateTrials trials{.trials = 0};
  JudgeOptions judge;
  QualityGateOptions quality;
};

using Clock = std::chrono::steady_clock;

constexpr int kSessionsInTurns = 16;  // as many as a baseline has
constexpr double kSlowerThanBase =
    8;  // what was fast enough for the base is measured even if it is slower now

/// Measures session by session. A variant that is decided at a look is not measured again, and keeps its
/// verdict.
class Regression {
 public:
  /// Against a baseline that was recorded earlier.
  Regression(const Options& o, Recording base, std::vector<std::string> only)
      : o_(o), base_(std::move(base)), plan_(plan_of(base_)), begin_(Clock::now()) {
    size_t rounds = 1;
    for (const Row& row : base_.rows) rounds = std::max(rounds, row.seconds.size());
    limit_ = o.sessions > 0 ? o.sessions : std::max(usable_sessions(base_), 8);
    plan_.rounds = int(rounds);
    plan_.seed = settings().seed + 1000;
    prepare(std::move(only));
  }

  /// Against another program, whose sessions alternate with this one's.
  Regression(const Options& o, SessionPlan plan, std::vector<std::string> only)
      : o_(o), plan_(std::move(plan)), begin_(Clock::now()) {
    limit_ = o.sessions > 0 ? o.sessions : kSessionsInTurns;
    plan_.seed = settings().seed;
    plan_.count = true;
    prepare(std::move(only));
  }

  /// Returns null if interrupted before the first look.
  const CompareResult* run() {
    Progress progress;
    if (o_.base.empty()) {
      std::vector<std::string> counted;
      for (const Row& row : base_.rows)
        if (!row.counts.empty()) counted.push_back(row.variant);
      progress.show("counting");
      append_counts(fresh_, counted);
    }
    for (int session = 1; session <= limit_ && !plan_.tasks.empty(); ++session) {
      if (late(session)) break;
      progress.show(fmt::format("session {} of at most {}: {} ladders", session, limit_, plan_.tasks.size()));
      // In turns, and the first of a pair is the second of the next: what changes while it is measured changes both alike.
      if (session % 2 == 1 && !measure_base(session)) return nullptr;
      Recording more = run_session_apart(plan_, session);
      if (interrupted() || !more.complete) return nullptr;
      append(fresh_, std::move(more));
      if (session % 2 == 0 && !measure_base(session)) return nullptr;
      if (session == 1 && !o_.base.empty()) drop_untimed();
      plan_.check = plan_.count = false;
      done_ = session;
      if (looks_->due(session)) compare(progress);
    }
    if (done_ != compared_ || done_ == 0) compare(progress);
    return &result_;
  }

  const Recording& rows() const { return fresh_; }
  int sessions() const { return done_; }
  bool out_of_time() const { return done_ < limit_ && !plan_.tasks.empty(); }

 private:
  void prepare(std::vector<std::string> only) {
    plan_.call_cap_seconds *= kSlowerThanBase;
    plan_.check = true;
    looks_.emplace(limit_,
                   ComparisonOptions{.verdict = {.threshold = o_.judge.fraction()}, .only = std::move(only)});
  }

  /// Runs the base program's session, if there is such a program. Returns whether the session is complete.
  bool measure_base(int session) {
    if (o_.base.empty()) return true;
    SessionPlan plan = plan_;
    plan.call_cap_seconds /= kSlowerThanBase;
    Recording more = run_session_apart(plan, session, o_.base);
    if (interrupted() || !more.complete) return false;
    append(base_, std::move(more));
    return true;
  }

  /// Leaves out what the base could not time in its first session: too slow, wrong, not supported or not there.
  void drop_untimed() {
    const int threads = plan_.tasks.front().threads;
    plan_.tasks = plan_of(base_).tasks;
    for (SessionTask& task : plan_.tasks) task.threads = threads;
  }

  /// Returns whether another session would probably exceed the time limit.
  bool late(int session) const {
    const double spent = std::chrono::duration<double>(Clock::now() - begin_).count();
    return session > 1 && spent + spent / (session - 1) > 60 * o_.minutes;
  }

  void compare(Progress& progress) {
    compared_ = done_;
    result_ = looks_->look(base_, fresh_);
    narrow(looks_->open());
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
  Recording base_;
  SessionPlan plan_;
  Clock::time_point begin_;
  std::optional<Looks> looks_;
  int limit_ = 0, done_ = 0, compared_ = 0;
  Recording fresh_;
  CompareResult result_;
};

/// Returns the plan that measures the requested ladders at all their sizes; sets `only` to the requested variants.
SessionPlan selected_plan(const Options& o, std::vector<std::string>& only) {
  SessionPlan plan;
  for (const Selected& s : select(o.what, o.backend)) {
    std::vector<std::string> ids;
    for (const Variant* v : variants_of(s.op->op.name))
      if (o.backend.empty() || v->backend == (o.backend == "simt" ? "cuda" : o.backend)) ids.push_back(v->id);
    for (const Variant* v : s.variants) only.push_back(v->id);
    for (const BenchShape& b : s.op->bench)
      plan.tasks.push_back({.op = s.op->op.name, .shape = b, .threads = settings().threads, .variants = ids});
  }
  if (plan.tasks.empty()) throw std::invalid_argument("nothing to time: the selected ops have no sizes");
  return plan;
}

/// Throws std::invalid_argument unless the file can be run.
void require_program(const std::string& file) {
  if (std::filesystem::is_directory(file) || access(file.c_str(), X_OK) != 0)
    throw std::invalid_argument("--base " + file +
                                ": is no program; name the one that was built from the base");
}

/// Returns the rows of the requested ladders; sets `only` to the requested variants, those that are gone among them.
Recording selected_rows(const Recording& base, const Options& o, std::vector<std::string>& only) {
  if (o.what.empty() && o.backend.empty()) return base;
  std::set<std::string> ops, gone, present;
  for (const std::string& what : o.what.empty() ? std::vector<std::string>{""} : o.what) {
    const size_t before = gone.size();
    for (const Row& row : base.rows) {
      const bool backend = o.backend.empty() || row.backend == (o.backend == "simt" ? "cuda" : o.backend);
      if (find_variant(row.variant) == nullptr && backend && means(what, row.lab, row.op, row.variant))
        gone.insert(row.variant), ops.insert(row.op);
    }
    try {
      for (const Selected& s :
           select(what.empty() ? std::vector<std::string>{} : std::vector{what}, o.backend)) {
        ops.insert(s.op->op.name);
        for (const Variant* v : s.variants) present.insert(v->id);
      }
    } catch (const NotFound&) {
      if (gone.size() == before) throw;
    }
  }
  if (present.empty())
    throw std::invalid_argument(fmt::format(
        "{} {} only in the baseline '{}': this klab has no such variant, so there is nothing to measure",
        *gone.begin(), gone.size() > 1 ? fmt::format("and {} more are", gone.size() - 1) : "is", o.against));
  only.assign(present.begin(), present.end());
  only.insert(only.end(), gone.begin(), gone.end());
  Recording part;
  for (const Row& row : base.rows)
    if (ops.count(row.op) != 0) part.rows.push_back(row);
  if (part.rows.empty())
    throw std::invalid_argument(
        fmt::format("the baseline '{}' holds nothing of what is asked for", o.against));
  return part;
}

/// Throws std::invalid_argument unless the baseline can decide anything: by counts, or by the times of a few sessions.
void require_usable(const Recording& base, const std::string& file) {
  const int sessions = usable_sessions(base);
  const bool counted = std::ranges::any_of(base.rows, [](const Row& row) { return !row.counts.empty(); });
  if (sessions >= kFewestSessions || (sessions == 0 && counted)) return;
  if (sessions == 0) {
    const Row& row = base.rows.front();
    const std::string why = !row.wrong.empty() ? row.wrong : !row.skipped.empty() ? row.skipped : row.error;
    throw std::invalid_argument(fmt::format(
        "{} has no usable session: no row has a time or counts ({}: {}); record it again: klab bench WHAT "
        "--baseline NAME",
        file, row.variant, why));
  }
  throw std::invalid_argument(fmt::format(
      "{} was measured by {} process{}; a baseline needs at least {}, so that one can tell how much "
      "processes differ: klab bench WHAT --baseline NAME",
      file, sessions, sessions == 1 ? "" : "es", kFewestSessions));
}

/// Measures the gate instead of the code.
int run_trials(const Options& o) {
  GateTrials t = o.trials;
  t.what = o.what;
  t.out = o.out;
  t.threshold = o.judge.fraction();
  if (o.sessions > 0) t.sessions = o.sessions;
  if (t.sessions < kFewestSessions)
    throw std::invalid_argument(fmt::format("--trials needs --sessions {} or more", kFewestSessions));
  return run_gate_trials(t);
}

Regression regression_of(const Options& o) {
  std::vector<std::string> only;
  if (!o.base.empty()) {
    require_program(o.base);
    SessionPlan plan = selected_plan(o, only);
    return {o, std::move(plan), std::move(only)};
  }
  const std::string file = rows_file_of(o.against);
  Recording base = selected_rows(read_csv(file), o, only);
  require_usable(base, file);
  return {o, std::move(base), std::move(only)};
}

/// Judges trainings in place of times.
int run_quality(const Options& o) {
  if (!o.what.empty())
    throw std::invalid_argument("--quality trains a scene, and " + o.what.front() +
                                " names what is timed: leave one out");
  if (!o.judge.junit.empty()) throw std::invalid_argument("--junit: is for times; use --json with --quality");
  QualityGateOptions q = o.quality;
  q.task.backend = o.backend.empty() ? "cpu" : o.backend;
  q.against = o.against;
  q.base = o.base;
  q.out = o.out;
  q.trials = o.trials.trials;
  q.strict = o.judge.strict;
  q.json = o.judge.json;
  q.markdown = o.judge.markdown;
  return run_quality_gate(q);
}

/// Refuses options that are for --quality only, where that is not given.
void require_quality(const CLI::App& app, const Options& o) {
  if (!o.quality.task.scene.empty()) return;
  for (const CLI::Option* option : app.get_options())
    if (option->get_group() == kQualityGroup && option->count() > 0)
      throw std::invalid_argument(option->get_name() +
                                  ": is for trainings; give --quality SCENE, or leave it out");
}

int run(Options o) {
  if (!o.quality.task.scene.empty()) return run_quality(o);
  if (o.trials.trials > 0) return run_trials(o);
  if (!o.base.empty() && !o.against.empty())
    throw std::invalid_argument("--base and --against: a program or a recorded run; leave one out");
  if (o.against.empty()) o.against = "baseline";
  o.judge.fraction();
  if (!o.out.empty()) require_writable(o.out);
  Regression regression = regression_of(o);
  watch_interrupt();
  if (!o.judge.json && !o.judge.markdown) fmt::print("{}", noise_text());
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
        "{} sessions{}, {} {}\n", regression.sessions(),
        regression.out_of_time() ? fmt::format(" (stopped after {:.3g} minutes, --minutes)", o.minutes) : "",
        o.base.empty() ? "against" : "in turns with", o.base.empty() ? o.against : o.base);
  return show(*result, o.judge);
}

KLAB_COMMAND(
    {.name = "regress",
     .summary = "Measure now and compare with a baseline: a gate for merges",
     .details = "WHAT is a lab, an op, a variant or a glob; default: all that the baseline holds. "
                "It measures in sessions, a\n"
                "process each, judges at half, three quarters and all of them, and measures on only "
                "what is undecided.\n"
                "Make a baseline with: klab bench WHAT --baseline NAME; or name the base's program, whose "
                "sessions then\n"
                "alternate with this one's (at all sizes; as many as --minutes has room for). Exit code 0: "
                "none slower; "
                "1: some slower, or wrong;\n"
                "2: nothing could be decided, noise hides a slowdown of more than five thresholds, the "
                "baseline has no\n"
                "usable session, bad input, or with --strict something is undecided or only in the "
                "baseline.\n"
                "--trials N measures the gate instead: N times the same code against itself, and with "
                "planted slowdowns,\n"
                "idle and next to spinning threads; --out FILE.json keeps what was done, and the same "
                "command goes on.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("what", o->what, "lab, op, variant or glob")->option_text("[WHAT ...]");
       app.add_option("--backend", o->backend, "only this one: cpu, cuda or simt");
       app.add_option("--against", o->against, "baseline, by name or file (default: baseline)");
       app.add_option("--base", o->base,
                      "a program built from the base: measured in turns with this one, without a baseline");
       add_number(app, "--sessions", o->sessions, range::sessions,
                  "measure at most this number (default: as the baseline; 16 with --base)");
       add_number(app, "--minutes", o->minutes, range::minutes,
                  "begin no session that would end later (default: 3)");
       app.add_option("--out", o->out, "write the new rows to this file, .csv or .json");
       add_json_file(app, "bench", "--out FILE.json");
       add_json_file(app, "gate_trials", "--trials N --out FILE.json");
       add_number(app, "--trials", o->trials.trials, kTrialCounts,
                  "try the gate itself so often (20 without a false alarm bound its rate at 14 %)");
       app.add_option("--loads", o->trials.loads,
                      "with --trials: numbers of spinning threads (default: 0,1,2)")
           ->delimiter(',')
           ->check(number_within<int>(kTrialLoads));
       app.add_option("--planted", o->trials.planted,
                      "with --trials: planted slowdowns in percent (default: 10,35)")
           ->delimiter(',')
           ->check(number_within<double>(kTrialSlowdowns));
       app.add_option("--size", o->trials.size, "with --trials: part of a size's name (default: the tour's)");
       add_number(app, "--rounds", o->trials.rounds, range::rounds,
                  "with --trials: rounds a session (default: 5)");
       add_judge_options(app, o->judge);
       add_json_file(app, "quality_verdict", "--quality SCENE --json");
       add_quality_options(app, o->quality);
       return [o, &app] {
         // A gate of times stops after three minutes; one of trainings only where that is asked for.
         if (app.count("--minutes") > 0) o->quality.minutes = o->minutes;
         require_quality(app, *o);
         return run(*o);
       };
     }});

}  // namespace
}  // namespace klab::regress_command
