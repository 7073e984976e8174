#include "harness/cli/gate_trials.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "harness/cli/change_text.h"
#include "harness/cli/command.h"
#include "harness/cli/ladder_text.h"
#include "harness/compare/looks.h"
#include "harness/core/select.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/json_schema.h"
#include "harness/records/session.h"
#include "harness/report/table.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

using Json = nlohmann::json;

/// Threads that keep processors busy as another program would: sessions are processes of their own.
class Spinners {
 public:
  explicit Spinners(int count) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this] {
        while (!stop_.load(std::memory_order_relaxed)) continue;
      });
  }
  ~Spinners() {
    stop_ = true;
    for (std::thread& t : threads_) t.join();
  }
  Spinners(const Spinners&) = delete;
  Spinners& operator=(const Spinners&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

SessionTask task_of(const Selected& s, const std::string& size) {
  const auto lower = [](std::string text) {
    for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  const BenchShape* shape = nullptr;
  std::vector<std::string> sizes;
  for (const BenchShape& b : s.op->bench) {
    sizes.push_back(b.name);
    const bool fits = size.empty() ? b.tour : lower(b.name).find(lower(size)) != std::string::npos;
    if (fits && shape == nullptr) shape = &b;
  }
  if (shape == nullptr && size.empty() && !s.op->bench.empty()) shape = &s.op->bench.front();
  if (shape == nullptr) throw NotFound(not_found_text("size of " + s.op->op.name, size, sizes));
  SessionTask task{.op = s.op->op.name, .shape = *shape, .threads = settings().threads, .variants = {}};
  for (const Variant* v : variants_of(s.op->op.name))
    if (v->backend == "cpu") task.variants.push_back(v->id);
  return task;
}

/// Returns the id of the fastest rung that has one before it: a slowdown of the first would be one of the anchor.
std::string target_of(const Recording& base) {
  std::map<std::string, std::vector<double>> times;
  for (const Row& r : base.rows)
    times[r.variant].insert(times[r.variant].end(), r.seconds.begin(), r.seconds.end());
  std::string best;
  double least = 0;
  for (const auto& [id, seconds] : times) {
    const Variant* v = find_variant(id);
    if (seconds.empty() || v == nullptr || v->peer || naive_of(*v) == v) continue;
    if (const double m = median(seconds); best.empty() || m < least) best = id, least = m;
  }
  if (best.empty())
    throw std::invalid_argument("nothing to plant a slowdown in: no rung besides the first was timed");
  return best;
}

Json trial_json(const CompareResult& result, const std::string& target) {
  const auto percent = [](double log_ratio) {
    return std::isfinite(log_ratio) ? Json(100 * std::expm1(log_ratio)) : Json(nullptr);
  };
  Json verdicts = Json::array();
  for (const Change& c : result.changes)
    verdicts.push_back({{"variant", c.variant},
                        {"verdict", c.failed.empty() ? name_of(c.judgement.verdict) : "WRONG"},
                        {"change_percent", c.measured ? percent(c.judgement.change.value) : Json(nullptr)},
                        {"margin_percent", c.measured ? percent(c.judgement.margin) : Json(nullptr)},
                        {"reason", c.failed.empty() ? c.reason : c.failed}});
  return {{"target", target}, {"exit_code", exit_code_of(result)}, {"verdicts", verdicts}};
}

class Experiment {
 public:
  explicit Experiment(const GateTrials& o) : o_(o) {
    std::vector<std::string> what = o.what;
    if (what.empty()) what.assign(std::begin(kTrialOps), std::end(kTrialOps));
    for (const Selected& s : select(what, "cpu")) tasks_.push_back(task_of(s, o.size));
    head_ = {{"machine", fingerprint(this_machine())},
             {"commit", this_machine().commit + (this_machine().dirty ? "-dirty" : "")},
             {"sessions", o.sessions},
             {"rounds", o.rounds},
             {"threshold", o.threshold},
             {"threads", settings().threads > 0 ? settings().threads : this_machine().threads}};
    read();
  }

  int run() {
    watch_interrupt();
    Progress progress;
    const size_t all = size_t(o_.trials) * tasks_.size() * o_.loads.size();
    size_t done = 0;
    for (int trial = 1; trial <= o_.trials; ++trial)
      for (const SessionTask& task : tasks_)
        for (const int load : o_.loads) {
          ++done;
          if (has(task, load, trial)) continue;
          progress.show(fmt::format("trial {} of {}: {}, {} spinning", done, all, task.op, load));
          if (!run_trial(task, load, trial)) {
            progress.clear();
            fmt::print(stderr, "klab: interrupted; {} holds {} verdicts, and the same command goes on\n",
                       o_.out, record_["trials"].size());
            return exit_interrupted;
          }
          write_file(o_.out, with_schema("gate_trials", record_).dump(1) + "\n");
        }
    progress.clear();
    print();
    return exit_ok;
  }

 private:
  void read() {
    record_ = head_;
    record_["trials"] = Json::array();
    if (!std::filesystem::exists(o_.out)) return;
    Json old = read_json_file(o_.out);
    for (const auto& [key, value] : head_.items())
      if (!old.is_object() || old.value(key, Json()) != value)
        throw std::invalid_argument(
            fmt::format("{}: holds trials with another '{}' ({} instead of {}); name another file", o_.out,
                        key, old.is_object() ? old.value(key, Json()).dump() : "none", value.dump()));
    if (!old.contains("trials") || !old["trials"].is_array())
      throw std::invalid_argument(o_.out + ": has no list 'trials'; name another file");
    old.erase("schema");  // added with the present version
    old.erase("schema_version");
    record_ = std::move(old);
  }

  bool has(const SessionTask& task, int load, int trial) const {
    std::vector<double> missing = plants();
    for (const Json& t : record_["trials"])
      if (t.value("op", "") == task.op && t.value("size", "") == task.shape.name &&
          t.value("load", -1) == load && t.value("trial", 0) == trial)
        std::erase(missing, t.value("planted_percent", -1.0));
    return missing.empty();
  }

  std::vector<double> plants() const {
    std::vector<double> list = {0};
    list.insert(list.end(), o_.planted.begin(), o_.planted.end());
    return list;
  }

  /// Returns false if interrupted.
  bool measure(const SessionTask& task, uint64_t seed, Recording& run) {
    SessionPlan plan;
    plan.tasks = {task};
    plan.rounds = o_.rounds;
    plan.seed = seed;
    plan.check = checked_.insert(task.op).second;
    for (int session = 1; session <= o_.sessions; ++session) {
      Recording more = run_session_apart(plan, session);
      if (interrupted() || !more.complete) return false;
      append(run, std::move(more));
      plan.check = false;
    }
    return true;
  }

  bool run_trial(const SessionTask& task, int load, int trial) {
    Recording base, fresh;
    {
      const Spinners others(load);
      const uint64_t seed = settings().seed + 10000 * uint64_t(trial);
      if (!measure(task, seed, base) || !measure(task, seed + 1000, fresh)) return false;
    }
    const std::string target = target_of(base);
    for (const double percent : plants()) {
      Json t = {{"op", task.op},
                {"size", task.shape.name},
                {"load", load},
                {"trial", trial},
                {"planted_percent", percent}};
      t.update(trial_json(judged(base, with_slowdown(fresh, target, 1 + percent / 100)), target));
      record_["trials"].push_back(std::move(t));
    }
    return true;
  }

  /// Returns the verdicts that klab regress reaches on these sessions.
  CompareResult judged(const Recording& base, const Recording& fresh) const {
    Looks looks(o_.sessions, {.verdict = {.threshold = o_.threshold}, .only = {}});
    CompareResult result;
    for (const int sessions : looks.at()) {
      Recording part;
      for (const Row& row : fresh.rows)
        if (row.session <= sessions) part.rows.push_back(row);
      result = looks.look(base, part);
      if (looks.open().empty()) break;
    }
    return result;
  }

  /// Verdicts of all trials of one load and slowdown.
  struct Sum {
    int trials = 0, alarmed = 0, red = 0,
        unsure = 0;  // alarmed: SLOWER or FASTER for a variant that did not change
    std::map<std::string, int> target;
  };

  void print() const {
    std::map<std::pair<int, double>, Sum> sums;
    for (const Json& t : record_["trials"]) {
      Sum& sum = sums[{t.at("load").get<int>(), t.at("planted_percent").get<double>()}];
      ++sum.trials;
      sum.red += t.at("exit_code") == 1 ? 1 : 0;
      sum.unsure += t.at("exit_code") == 2 ? 1 : 0;
      bool alarm = false;
      for (const Json& v : t.at("verdicts")) {
        const std::string verdict = v.at("verdict");
        const bool target = v.at("variant") == t.at("target");
        if (target) ++sum.target[verdict];
        if (!target || t.at("planted_percent") == 0.0)
          alarm = alarm || verdict == "SLOWER" || verdict == "FASTER";
      }
      sum.alarmed += alarm ? 1 : 0;
    }
    Table table({{"spinning threads", Column::Kind::right},
                 {"planted", Column::Kind::right},
                 {"trials", Column::Kind::right},
                 {"SLOWER", Column::Kind::right},
                 {"FASTER", Column::Kind::right},
                 {"SAME", Column::Kind::right},
                 {"UNDECIDED", Column::Kind::right},
                 {"exit 1", Column::Kind::right},
                 {"exit 2", Column::Kind::right},
                 {"false alarms", Column::Kind::right},
                 {"rate at most", Column::Kind::right}});
    for (const auto& [key, sum] : sums) {
      const auto of = [&s = sum](const char* verdict) {
        const auto at = s.target.find(verdict);
        return std::to_string(at == s.target.end() ? 0 : at->second);
      };
      table.add({std::to_string(key.first), key.second > 0 ? fmt::format("+{:.3g} %", key.second) : "none",
                 std::to_string(sum.trials), of("SLOWER"), of("FASTER"), of("SAME"), of("UNDECIDED"),
                 std::to_string(sum.red), std::to_string(sum.unsure), std::to_string(sum.alarmed),
                 fmt::format("{:.0f} %", 100 * rate_bound(sum.alarmed, sum.trials))});
    }
    fmt::print(
        "{}The four verdicts are those of the rung with the planted slowdown. A false alarm is a trial in "
        "which any "
        "rung that\ndid not change is SLOWER or FASTER; the last column bounds its rate with 95 % "
        "confidence: {} "
        "trials bound a rate at\n{:.0f} % at best. The record is in {}\n",
        table.text(), o_.trials, 100 * rate_bound(0, o_.trials), o_.out);
  }

  const GateTrials& o_;
  std::vector<SessionTask> tasks_;
  std::set<std::string> checked_;
  Json head_, record_;
};

}  // namespace

int run_gate_trials(const GateTrials& o) {
  if (!o.out.ends_with(".json"))
    throw std::invalid_argument("--trials: the record needs a file: --out NAME.json");
  require_writable_file(o.out);
  return Experiment(o).run();
}

Recording with_slowdown(Recording run, const std::string& variant, double factor) {
  for (Row& r : run.rows) {
    if (r.variant != variant || r.seconds.empty()) continue;
    for (double& s : r.seconds) s *= factor;
    for (double& s : r.shares) s /= factor;
    r.time = median_interval(r.seconds);
  }
  return run;
}

double rate_bound(int hits, int trials) {
  if (trials <= 0 || hits >= trials) return 1;
  // P(at most `hits` hits) falls with the rate; where it is 5 % lies the bound.
  const auto at_most = [&](double rate) {
    double sum = 0;
    for (int k = 0; k <= hits; ++k)
      sum += std::exp(std::lgamma(trials + 1) - std::lgamma(k + 1) - std::lgamma(trials - k + 1) +
                      k * std::log(rate) + (trials - k) * std::log1p(-rate));
    return sum;
  };
  double low = 1e-12, high = 1 - 1e-12;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (at_most(middle) > 0.05 ? low : high) = middle;
  }
  return high;
}

}  // namespace klab
