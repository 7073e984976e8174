#include "harness/cli/quality_gate.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/cli/command.h"
#include "harness/cli/gate_trials.h"
#include "harness/cli/json_option.h"
#include "harness/cli/ladder_text.h"
#include "harness/cli/number_option.h"
#include "harness/cli/quality_pool.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

TrainForQuality& registered() {
  static TrainForQuality train;
  return train;
}

constexpr Range kSeeds{kFewestRuns, 1000};
constexpr Range kMargin{0, 100};     // dB
constexpr Range kDecibels{0, 1000};  // of a loss, or to be reached
constexpr double kLosses[] = {0.1, 0.15, 0.2, 0.3, 0.5, 1};

/// Files of the trainings, in a folder of this process that goes with it.
class WorkFolder {
 public:
  WorkFolder() : path_(fs::temp_directory_path() / fmt::format("klab_quality_{}", getpid())) {
    fs::create_directories(path_);
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!keep_) fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  std::string path() const { return path_.string(); }
  void keep() { keep_ = true; }  // an error names a log in it

 private:
  fs::path path_;
  bool keep_ = false;
};

class Gate {
 public:
  explicit Gate(const QualityGateOptions& o) : o_(o), begin_(Clock::now()) {
    fresh_ = {.machine = fingerprint(this_machine()),
              .commit = this_machine().commit + (this_machine().dirty ? "-dirty" : ""),
              .task = o.task,
              .runs = {}};
    base_ = fresh_;
    base_.commit = o.base;
  }

  int record() {
    const std::string file = new_pool_file_of(o_.baseline);
    make_parent(file);
    resume(file, fresh_);
    while (int(fresh_.runs.size()) < o_.seeds)
      if (!train(fresh_, "", file)) return interrupted_text(file);
    progress_.clear();
    fmt::print("recorded  {} trainings of {}: {}\n{}", fresh_.runs.size(), length_text(o_.task), file,
               power_text(fresh_.runs));
    return exit_ok;
  }

  int run() {
    if (o_.base.empty()) {
      const std::string file = pool_file_of(o_.against);
      base_ = read_pool(file);
      if (const std::string why = why_not_comparable(base_, fresh_); !why.empty())
        throw std::invalid_argument(fmt::format(
            "{}: its trainings differ from the new ones in {}; give the same options", file, why));
      require_runs(base_.runs, file);
    } else {
      resume(base_file(), base_);
    }
    resume(o_.out, fresh_);
    if (!o_.json && !o_.markdown && o_.base.empty()) fmt::print("{}", power_text(base_.runs));
    const std::vector<int> looks = quality_looks(o_.seeds);
    QualityOptions judge = o_.judge;
    judge.looks = int(looks.size());
    for (const int look : looks) {
      while (int(fresh_.runs.size()) < look || (!o_.base.empty() && int(base_.runs.size()) < look)) {
        if (late()) return decide(judge, true);
        if (!train_pair()) return interrupted_text(o_.out);
      }
      used_ = look;
      take(judge);
      if (result_->decided()) break;
    }
    return decide(judge, false);
  }

 private:
  /// Judges the trainings up to a look. A metric keeps its first verdict.
  void take(const QualityOptions& judge) {
    if (const std::string why = why_not_comparable(base_, fresh_); !why.empty())
      throw std::invalid_argument("--quality: the trainings differ in " + why);
    const std::span<const QualityRun> fresh(fresh_.runs);
    const QualityResult now = judge_quality(base_.runs, fresh.first(size_t(used_)), judge);
    if (!result_) {
      result_ = now;
      return;
    }
    if (result_->psnr.verdict == QualityVerdict::undecided) result_->psnr = now.psnr;
    if (result_->reach && result_->reach->verdict == QualityVerdict::undecided) result_->reach = now.reach;
  }

  static void require_runs(const std::vector<QualityRun>& runs, const std::string& file) {
    if (runs.size() < kFewestRuns)
      throw std::invalid_argument(
          fmt::format("{}: \"runs\" holds {} trainings, and a verdict needs {}; record more: klab regress "
                      "--quality SCENE --baseline NAME",
                      file, runs.size(), kFewestRuns));
  }

  std::string base_file() const {
    return o_.out.empty() ? "" : fs::path(o_.out).replace_extension("base.json").string();
  }

  static void make_parent(const std::string& file) {
    std::error_code ignored;
    fs::create_directories(fs::path(file).parent_path(), ignored);
    require_writable_file(file);
  }

  /// Takes over the trainings of an interrupted gate.
  void resume(const std::string& file, QualityPool& pool) const {
    if (file.empty()) return;
    if (!fs::exists(file)) {
      require_writable_file(file);
      return;
    }
    const QualityPool old = read_pool(file);
    std::string why = why_not_comparable(old, pool);
    if (why.empty() && old.task.changes != pool.task.changes) why = "changes";
    if (why.empty() && old.commit != pool.commit)
      why = fmt::format("commit: {} and {}", old.commit, pool.commit);
    if (!why.empty())
      throw std::invalid_argument(
          fmt::format("{}: holds trainings that differ from these in {}; name another file", file, why));
    pool.runs = old.runs;
  }

  /// Trains with the first seed that the pool lacks. Returns false after an interruption.
  bool train(QualityPool& pool, const std::string& program, const std::string& file) {
    uint64_t seed = settings().seed;
    while (std::ranges::any_of(pool.runs, [&](const QualityRun& run) { return run.seed == seed; })) ++seed;
    progress_.show(fmt::format("training {} of {}, seed {}{}", pool.runs.size() + 1, o_.seeds, seed,
                               program.empty() ? "" : ", base"));
    QualityRun run{.seed = seed};
    try {
      if (!registered()(o_.task, seed, program, folder_.path(), run) || interrupted()) return false;
    } catch (const std::runtime_error&) {
      folder_.keep();
      throw;
    }
    pool.runs.push_back(run);
    if (!file.empty()) write_pool(file, pool);
    return true;
  }

  /// Trains what both pools lack. The one that begins changes from pair to pair: what changes meanwhile changes both alike.
  bool train_pair() {
    const size_t pair = fresh_.runs.size();
    const bool base_lacks = !o_.base.empty() && base_.runs.size() <= pair;
    if (base_lacks && pair % 2 == 0 && !train(base_, o_.base, base_file())) return false;
    if (!train(fresh_, "", o_.out)) return false;
    return !base_lacks || pair % 2 == 0 || train(base_, o_.base, base_file());
  }

  /// Returns whether another training would probably exceed the time limit.
  bool late() const {
    const double spent = std::chrono::duration<double>(Clock::now() - begin_).count();
    const auto done = double(std::max<size_t>(1, fresh_.runs.size()));
    return o_.minutes > 0 && fresh_.runs.size() >= kFewestRuns && spent + spent / done > 60 * o_.minutes;
  }

  int interrupted_text(const std::string& file) {
    progress_.clear();
    fmt::print(stderr, "klab: interrupted{}\n",
               file.empty() ? "; --out FILE.json keeps what was trained"
                            : fmt::format("; {} holds {} trainings, and the same command continues", file,
                                          fresh_.runs.size()));
    return exit_interrupted;
  }

  /// Says which loss a gate with these trainings finds.
  std::string power_text(const std::vector<QualityRun>& pool) const {
    const int runs = std::min(o_.seeds, int(pool.size()));
    if (runs < int(kFewestRuns)) return "";
    constexpr int kTrials = 200;
    for (const double loss : kLosses)
      if (quality_power(pool, runs, loss, o_.judge, kTrials, settings().seed).found >= kFoundShare)
        return fmt::format("power     {} trainings a side find a loss of {} dB in nine of ten gates\n", runs,
                           loss);
    return fmt::format(
        "power     {} trainings a side find no loss up to {} dB in nine of ten gates: give more --seeds\n",
        runs, kLosses[std::size(kLosses) - 1]);
  }

  int decide(const QualityOptions& judge, bool out_of_time) {
    progress_.clear();
    if (!result_) {
      used_ = int(std::min(fresh_.runs.size(), size_t(o_.seeds)));
      require_runs(base_.runs, o_.base);
      take(judge);
    }
    const QualityResult& r = *result_;
    const int code = r.worse() ? exit_failed : o_.strict && !r.decided() ? exit_usage : exit_ok;
    if (o_.json)
      fmt::print("{}\n", with_schema("quality_verdict", json(code)).dump(2));
    else
      fmt::print("{}", o_.markdown ? markdown() : text(out_of_time));
    if (code == exit_usage)
      fmt::print(stderr,
                 "klab: something is undecided, which --strict does not let pass: give more --seeds, or a "
                 "wider --margin\n");
    return code;
  }

  struct Line {
    std::string metric, base, fresh, change, margin, verdict;
  };
  std::vector<Line> lines() const {
    const auto interval = [](const Shift& s, const auto& number) {
      return std::isfinite(s.low) && std::isfinite(s.high)
                 ? fmt::format("{} ({} to {})", number(s.value), number(s.low), number(s.high))
                 : number(s.value);
    };
    const auto decibels = [](double v) { return fmt::format("{:+.3f} dB", v); };
    const QualityJudgement& p = result_->psnr;
    std::vector<Line> all = {{fmt::format("PSNR after {}", length_text(o_.task)),
                              fmt::format("{:.2f} dB", p.base), fmt::format("{:.2f} dB", p.fresh),
                              interval(p.change, decibels), fmt::format("{:.3g} dB", p.margin),
                              name_of(p.verdict)}};
    if (!result_->reach) return all;
    const QualityJudgement& q = *result_->reach;
    const char* unit = o_.task.seconds > 0 ? "s" : "steps";
    const auto length = [&](double v) {
      return v < -100 ? std::string("never") : fmt::format("{:.4g} {}", std::exp(-v), unit);
    };
    // A gain is a shorter length: the logarithms are negated.
    const auto percent = [](double v) {
      return std::abs(v) > 100 ? std::string(v > 0 ? "now reached" : "no longer reached")
                               : fmt::format("{:+.1f} %", 100 * std::expm1(-v));
    };
    Shift turned = q.change;
    std::swap(turned.low, turned.high);
    all.push_back({fmt::format("length to {:g} dB", o_.task.reach), length(q.base), length(q.fresh),
                   interval(turned, percent), fmt::format("{:.3g} %", 100 * std::expm1(q.margin)),
                   name_of(q.verdict)});
    return all;
  }

  std::string text(bool out_of_time) const {
    Table table({{"metric"},
                 {"base", Column::Kind::right},
                 {"new", Column::Kind::right},
                 {"change", Column::Kind::right},
                 {"margin", Column::Kind::right},
                 {"verdict"}});
    for (const Line& l : lines()) table.add({l.metric, l.base, l.fresh, l.change, l.margin, l.verdict});
    return fmt::format(
        "{}{} new trainings against {}{}\n", table.text(), used_, base_.runs.size(),
        out_of_time ? fmt::format(" (stopped after {:.3g} minutes, --minutes)", o_.minutes) : "");
  }

  std::string markdown() const {
    std::string text = "| metric | base | new | change | margin | verdict |\n|---|--:|--:|--:|--:|---|\n";
    for (const Line& l : lines())
      text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", l.metric, l.base, l.fresh, l.change, l.margin,
                          l.verdict);
    return text;
  }

  Json json(int code) const {
    const auto number = [](double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); };
    const auto judgement = [&](const QualityJudgement& j) {
      return Json{{"verdict", name_of(j.verdict)}, {"base", number(j.base)},
                  {"fresh", number(j.fresh)},      {"change", number(j.change.value)},
                  {"low", number(j.change.low)},   {"high", number(j.change.high)},
                  {"margin", number(j.margin)}};
    };
    return {{"exit_code", code},
            {"scene", o_.task.scene},
            {"length", length_text(o_.task)},
            {"base_runs", base_.runs.size()},
            {"fresh_runs", used_},
            {"psnr", judgement(result_->psnr)},
            {"reach", result_->reach ? judgement(*result_->reach) : Json(nullptr)}};
  }

  const QualityGateOptions& o_;
  Clock::time_point begin_;
  WorkFolder folder_;
  Progress progress_;
  QualityPool base_, fresh_;
  std::optional<QualityResult> result_;
  int used_ = 0;
};

/// Prints how many trainings find which loss.
int print_power(const QualityGateOptions& o) {
  const std::string file = pool_file_of(o.against);
  const QualityPool pool = read_pool(file);
  Table table({{"loss", Column::Kind::right},
               {"trainings a side", Column::Kind::right},
               {"found", Column::Kind::right},
               {"false alarms", Column::Kind::right}});
  const std::vector<double> losses =
      o.loss > 0 ? std::vector<double>{o.loss} : std::vector<double>(std::begin(kLosses), std::end(kLosses));
  for (const double loss : losses) {
    const auto power = runs_needed(pool.runs, loss, o.judge, settings().seed);
    const int most = kRunsTried[std::size(kRunsTried) - 1];
    if (power)
      table.add({fmt::format("{} dB", loss), std::to_string(power->runs),
                 fmt::format("{:.0f} %", 100 * power->found), fmt::format("{:.1f} %", 100 * power->alarms)});
    else
      table.add({fmt::format("{} dB", loss), fmt::format("over {}", most), "", ""});
  }
  fmt::print(
      "{}Predicted from the scatter of the {} trainings in {}, for a margin of {:g} dB and {:g} % of false "
      "alarms at most\n",
      table.text(), pool.runs.size(), file, o.judge.margin, 100 * o.judge.alarm_rate);
  return exit_ok;
}

/// Tries the gate itself on recorded pools: the base against itself, and against `out` if that is a pool.
int print_trials(const QualityGateOptions& o) {
  const QualityPool base = read_pool(pool_file_of(o.against));
  std::vector<std::pair<std::string, QualityTrials>> all = {
      {"none", quality_trials(base.runs, {}, o.seeds, o.trials, o.judge, settings().seed)}};
  if (!o.out.empty()) {
    const QualityPool fresh = read_pool(o.out);
    if (const std::string why = why_not_comparable(base, fresh); !why.empty())
      throw std::invalid_argument(fmt::format("{}: its trainings differ from the base's in {}", o.out, why));
    all.emplace_back(o.out,
                     quality_trials(base.runs, fresh.runs, o.seeds, o.trials, o.judge, settings().seed));
  }
  Table table({{"change"},
               {"trials", Column::Kind::right},
               {"WORSE", Column::Kind::right},
               {"BETTER", Column::Kind::right},
               {"SAME", Column::Kind::right},
               {"UNDECIDED", Column::Kind::right},
               {"alarm rate at most", Column::Kind::right}});
  for (const auto& [name, t] : all)
    table.add({name, std::to_string(t.trials), std::to_string(t.worse), std::to_string(t.better),
               std::to_string(t.same), std::to_string(t.undecided),
               fmt::format("{:.0f} %", 100 * rate_bound(t.worse + t.better, t.trials))});
  fmt::print(
      "{}Trials of {} trainings a side, drawn from the pools; the last column bounds the rate of WORSE or "
      "BETTER with 95 % confidence\n",
      table.text(), o.seeds);
  return exit_ok;
}

void require_sense(const QualityGateOptions& o) {
  if (!o.baseline.empty() && (!o.base.empty() || !o.against.empty()))
    throw std::invalid_argument("--baseline records, and --base and --against compare: give one of them");
  if (!o.base.empty() && !o.against.empty())
    throw std::invalid_argument("--base and --against: a program or a recorded pool; leave one out");
  if (!o.base.empty() && (fs::is_directory(o.base) || access(o.base.c_str(), X_OK) != 0))
    throw std::invalid_argument("--base " + o.base +
                                ": is no program; name the one that was built from the base");
  if (o.power || o.trials > 0) {
    if (o.against.empty())
      throw std::invalid_argument("--power and --trials read a recorded pool: name it with --against");
    return;
  }
  if (o.baseline.empty() && o.base.empty() && o.against.empty())
    throw std::invalid_argument(
        "--quality: against what? --against NAME (recorded before with --baseline NAME), or --base PROGRAM");
  if (o.task.seconds > 0 && o.task.steps > 0)
    throw std::invalid_argument("--seconds and --steps: give one length");
  if (o.task.seconds == 0 && o.task.steps == 0)
    throw std::invalid_argument("--quality: how long is a training? give --steps or --seconds");
  if (!o.out.empty() && !o.out.ends_with(".json"))
    throw std::invalid_argument("--out " + o.out + ": a pool of trainings is kept as .json; name it so");
  if (!registered())
    throw std::invalid_argument("--quality: this program was built without a trainer; use klab's own");
}

}  // namespace

QualityTrainingRegistrar::QualityTrainingRegistrar(TrainForQuality train) { registered() = std::move(train); }

void add_quality_options(CLI::App& app, QualityGateOptions& o) {
  const std::string group = kQualityGroup;
  app.add_option("--quality", o.task.scene,
                 "train this scene with several seeds, and judge dB in place of times")
      ->group(group);
  app.add_option("--field", o.task.field, "kind of field, as of klab train (default hash)")->group(group);
  app.add_option("--config", o.task.config, "JSON file with numbers of the recipe")->group(group);
  app.add_option("--set", o.task.changes, "a number of the recipe, as name=value; may be given several times")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--precision", o.task.precision, "as of klab train (default f32)")->group(group);
  add_number(app, "--downscale", o.task.downscale, range::downscale, "shrink the pictures by this factor")
      ->group(group);
  add_number(app, "--holdout", o.task.holdout, range::holdout,
             "without a test set: every N-th view is for testing")
      ->group(group);
  add_number(app, "--seconds", o.task.seconds, range::seconds, "length of a training")->group(group);
  add_number(app, "--steps", o.task.steps, range::steps, "length of a training, which no other load changes")
      ->group(group);
  add_number(app, "--reach", o.task.reach, kDecibels, "judge the length to this number of dB, too")
      ->group(group);
  add_number(app, "--seeds", o.seeds, kSeeds, "trainings at most, each with a seed of its own (default 16)")
      ->group(group);
  add_number(app, "--margin", o.judge.margin, kMargin,
             "dB up to which a change does not matter (default 0.05)")
      ->group(group);
  app.add_option("--baseline", o.baseline, "record the trainings under this name")->group(group);
  app.add_flag("--power", o.power, "print how many seeds find which loss, and train nothing")->group(group);
  add_number(app, "--loss", o.loss, kDecibels, "with --power: this loss, dB")->group(group);
  add_json_file(app, "quality", "--quality SCENE --out FILE.json");
}

int run_quality_gate(const QualityGateOptions& options) {
  QualityGateOptions o = options;
  require_sense(o);
  if (o.power) return print_power(o);
  if (o.trials > 0) return print_trials(o);
  if (!o.task.config.empty()) o.task.config = parse_json(read_input(o.task.config), o.task.config).dump();
  watch_interrupt();
  Gate gate(o);
  return o.baseline.empty() ? gate.run() : gate.record();
}

}  // namespace klab
