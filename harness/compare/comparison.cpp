#include "harness/compare/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/compare/differences.h"
#include "harness/compare/evidence.h"

namespace klab {
namespace {

class Comparer {
 public:
  Comparer(const Recording& base, const Recording& fresh, const ComparisonOptions& options)
      : options_(options), base_(ladders_of(base)), fresh_(ladders_of(fresh)) {
    result_.sessions = usable_sessions(base) >= kFewestSessions && usable_sessions(fresh) >= kFewestSessions;
    result_.widest = std::log1p(options.verdict.widest * options.verdict.threshold);
    compare_origins(base, fresh);
    for (std::string& line : differences_of(base, fresh)) result_.notes.push_back(std::move(line));
    require_repetitions(base, "the base");
    require_repetitions(fresh, "the new run");
  }

  CompareResult compare() {
    for (const auto& [key, base] : base_) {
      const auto at = fresh_.find(key);
      std::set<std::string> seen;
      for (const auto& [session, ladder] : base)
        for (const auto& [variant, row] : ladder)
          if (asked(variant) && seen.insert(variant).second)
            pair_up(*row, base, at == fresh_.end() ? nullptr : &at->second);
    }
    list_added();
    if (result_.changes.empty())
      throw std::invalid_argument(fmt::format(
          "nothing to compare: the two runs have no variant at the same shape, threads and cache in common "
          "({} only in the base, {} only in the new run{}); an empty comparison is no pass",
          result_.missing.size(), result_.added.size(),
          result_.missing.empty() ? "" : "; the first: " + result_.missing.front()));
    judge_all();
    return std::move(result_);
  }

 private:
  bool asked(const std::string& variant) const {
    const auto& only = options_.only;
    return only.empty() || std::find(only.begin(), only.end(), variant) != only.end();
  }

  /// Returns a timed row from any session, or else one that says why it was not timed.
  static const Row* row_of(const Sessions& run, const std::string& variant) {
    const Row* found = nullptr;
    for (const auto& [session, ladder] : run)
      if (const auto at = ladder.find(variant); at != ladder.end())
        if (found == nullptr || (found->seconds.empty() && !at->second->seconds.empty())) found = at->second;
    return found;
  }

  static const Row* wrong_row_of(const Sessions& run, const std::string& variant) {
    for (const auto& [session, ladder] : run)
      if (const auto at = ladder.find(variant); at != ladder.end() && !at->second->wrong.empty())
        return at->second;
    return nullptr;
  }

  static std::string place(const Row& r) {
    return fmt::format("{}, {}{}", r.variant, r.size.empty() ? r.shape : r.size,
                       r.threads > 1 ? fmt::format(", {} threads", r.threads) : ", 1 thread");
  }

  void compare_origins(const Recording& base, const Recording& fresh) {
    const auto all = [](const Recording& run, std::string Row::*field) {
      std::set<std::string> values;
      for (const Row& r : run.rows) values.insert(r.*field);
      std::string text;
      for (const std::string& v : values) text += (text.empty() ? "" : ", ") + v;
      return text;
    };
    const auto machine0 = all(base, &Row::fingerprint), machine1 = all(fresh, &Row::fingerprint);
    same_machine_ = machine0 == machine1;
    if (!same_machine_ && options_.absolute)
      throw std::invalid_argument(
          fmt::format("absolute times cannot be compared: the base was measured on {}, the new run on {} "
                      "(machine or build "
                      "flags differ); without --absolute the ratios to an anchor are",
                      machine0, machine1));
    if (!same_machine_)
      result_.notes.push_back(
          fmt::format("another machine or build: {} against {}; only ratios are compared, "
                      "and ratios differ between processors",
                      machine0, machine1));
    if (!result_.sessions)
      result_.notes.push_back(
          fmt::format("one process a run: nothing tells how much processes differ, so changes up to {:.0f} % "
                      "are put down to "
                      "that; klab bench --baseline and klab regress measure it",
                      100 * kOneProcess));
  }

  void require_repetitions(const Recording& run, const char* name) const {
    size_t most = 0;
    bool timed = false, counted = false;
    std::map<std::string, size_t> rounds;
    for (const Row& r : run.rows) {
      most = std::max(most, rounds[key_of(r)] += r.seconds.size());
      timed = timed || !r.seconds.empty();
      counted = counted || !r.counts.empty();
    }
    if (counted && !timed) return;
    if (!timed)
      throw std::invalid_argument(
          fmt::format("{} holds neither times nor counts: every row was skipped", name));
    if (most < size_t(kFewestUnits))
      throw std::invalid_argument(
          fmt::format("{} has {} round{} a variant; one repetition tells nothing, take at "
                      "least 15 (klab bench --rounds 15)",
                      name, most, most == 1 ? "" : "s"));
  }

  void pair_up(const Row& any, const Sessions& base, const Sessions* fresh) {
    const Row* before = row_of(base, any.variant);
    if (before->seconds.empty() && before->counts.empty())
      return;  // it was skipped in the base: if the new run has a time, list_added() says so
    const Row* after = fresh ? row_of(*fresh, any.variant) : nullptr;
    if (after == nullptr) {
      result_.missing.push_back(place(*before) + elsewhere(*before, fresh_));
      return;
    }
    Change c{.lab = before->lab,
             .op = before->op,
             .variant = before->variant,
             .size = before->size,
             .shape = before->shape,
             .cache = cache_state(before->cache),
             .threads = before->threads};
    if (const Row* wrong = wrong_row_of(*fresh, any.variant)) {
      c.failed = wrong->wrong;
      result_.changes.push_back(std::move(c));
      anchors_.emplace_back();
      return;
    }
    if (!before->counts.empty() && !after->counts.empty()) {
      compare_counts(c, before->counts, after->counts);
      result_.changes.push_back(std::move(c));
      anchors_.emplace_back();
      return;
    }
    if (before->seconds.empty() || after->seconds.empty()) {
      result_.missing.push_back(
          place(*before) + " (skipped: " + (after->seconds.empty() ? after->skipped : before->skipped) + ")");
      return;
    }
    const auto middle = [&](const Sessions& run) {
      std::vector<double> all;
      for (const auto& [session, ladder] : run)
        if (const auto at = ladder.find(any.variant); at != ladder.end())
          all.insert(all.end(), at->second->seconds.begin(), at->second->seconds.end());
      return median(all);
    };
    c.base_seconds = middle(base);
    c.fresh_seconds = middle(*fresh);
    const std::string ceiling = common_ceiling(any.variant, base, *fresh);
    if (!options_.absolute && !ceiling.empty())
      c.machine = ceiling_of(*fresh, any.variant, ceiling) - ceiling_of(base, any.variant, ceiling);
    Anchor lost;
    auto list = anchors_of(any.variant, base, *fresh, result_.sessions, options_.absolute, &lost);
    c.base_left_out = lost.base.left_out;
    c.fresh_left_out = lost.fresh.left_out;
    if (list.empty()) {
      c.reason = lost.base.lost + lost.fresh.lost > 0 ? text_of_loss(lost)
                                                      : why_no_anchor(any.variant, base, *fresh);
      if (lost.base.all > 0 && lost.base.left_out == lost.base.all) ++without_base_;
    } else {
      c.anchor = list.front().name == kCeiling ? "ceiling " + ceiling : list.front().name;
      c.base_units = int(list.front().base.values.size());
      c.fresh_units = int(list.front().fresh.values.size());
      c.base_left_out = list.front().base.left_out;
      c.fresh_left_out = list.front().fresh.left_out;
    }
    result_.changes.push_back(std::move(c));
    anchors_.push_back(std::move(list));
  }

  /// Returns what other work took: "other work took the processor in 9 of 16 sessions of the base".
  std::string text_of_loss(const Anchor& lost) const {
    std::string text;
    for (const auto& [units, name] : {std::pair{&lost.base, "the base"}, {&lost.fresh, "the new run"}})
      if (units->lost > 0)
        text += fmt::format(
            "{}in {} % of the rounds of {}{}", text.empty() ? "" : " and ",
            (100 * units->lost + units->rounds / 2) / units->rounds, name,
            units->left_out == units->all
                ? fmt::format(", so that it has no usable {}", result_.sessions ? "session" : "round")
                : "");
    return "other work took the processor " + text;
  }

  /// Returns what another run has of a variant that lacks this row: "; there it has 4 threads". Empty if nothing.
  static std::string elsewhere(const Row& row, const std::map<std::string, Sessions>& run) {
    for (const auto& [key, sessions] : run) {
      const Row* other = row_of(sessions, row.variant);
      if (other == nullptr) continue;
      std::string text;
      const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
      if (other->shape != row.shape) add("at " + other->shape);
      if (other->threads != row.threads)
        add(fmt::format("with {} thread{}", other->threads, other->threads == 1 ? "" : "s"));
      if (cache_state(other->cache) != cache_state(row.cache)) add(cache_state(other->cache));
      return " (the other run has it " + text + ")";
    }
    return "";
  }

  /// Explains why a variant that was not disturbed has no anchor.
  static std::string why_no_anchor(const std::string& variant, const Sessions& base, const Sessions& fresh) {
    const Variant* const known = find_variant(variant);
    const Variant* const naive = known != nullptr ? naive_of(*known) : nullptr;
    if (naive == known && known != nullptr)
      return "it is the first rung of its ladder, and no library or ceiling is in both runs to measure it by";
    if (naive != nullptr && row_of(base, naive->id) != nullptr && row_of(fresh, naive->id) != nullptr)
      return fmt::format(
          "{} is in both runs, but not in the same rounds as it in each, and no library or ceiling is in "
          "both",
          naive->id);
    return "nothing in the same ladder to measure it by: no first rung, library or ceiling in both runs";
  }

  /// Returns the log of the ceiling measured with a variant, up to a constant that is the same in every run;
  /// 0 if none was recorded.
  static double ceiling_of(const Sessions& run, const std::string& variant, const std::string& ceiling) {
    std::vector<double> all;
    for (const auto& [session, ladder] : run)
      if (const auto at = ladder.find(variant); at != ladder.end() && at->second->ceiling == ceiling)
        for (size_t i = 0; i < at->second->shares.size(); ++i)
          all.push_back(-std::log(at->second->seconds[i] * at->second->shares[i]));
    return all.empty() ? 0 : median(all);
  }

  /// Compares counts. They have no noise: an increase by one is a regression, and needs no statistics.
  static void compare_counts(Change& c, const std::map<std::string, int64_t>& base,
                             const std::map<std::string, int64_t>& fresh) {
    bool more = false, fewer = false, any = false;
    for (const auto& [name, before] : base) {
      const auto at = fresh.find(name);
      if (at == fresh.end()) {
        c.reason += fmt::format("{}{} {} -> not counted", c.reason.empty() ? "" : ", ", name, before);
        continue;
      }
      any = true;
      if (at->second == before) continue;
      (at->second > before ? more : fewer) = true;
      c.reason += fmt::format("{}{} {} -> {}", c.reason.empty() ? "" : ", ", name, before, at->second);
    }
    for (const auto& [name, now] : fresh)
      if (base.count(name) == 0)
        c.reason += fmt::format("{}{} not counted -> {}", c.reason.empty() ? "" : ", ", name, now);
    c.anchor = "counts";
    c.judgement.verdict = !any   ? Verdict::undecided
                          : more ? Verdict::slower
                                 : (fewer ? Verdict::faster : Verdict::same);
    if (!any) c.reason = "the two runs count different things: " + c.reason;
  }

  void list_added() {
    std::set<std::string> listed;
    for (const auto& [key, fresh] : fresh_)
      for (const auto& [session, ladder] : fresh)
        for (const auto& [variant, row] : ladder) {
          if (!asked(variant) || (row->seconds.empty() && row->counts.empty())) continue;
          if (!listed.insert(key_of(*row)).second) continue;
          const auto at = base_.find(key);
          const Row* before = at == base_.end() ? nullptr : row_of(at->second, variant);
          if (before == nullptr)
            result_.added.push_back(place(*row) + elsewhere(*row, base_));
          else if (before->seconds.empty() && before->counts.empty())
            result_.added.push_back(fmt::format("{} ({} in the base: {})", place(*row),
                                                before->wrong.empty() ? "skipped" : "wrong",
                                                before->wrong.empty() ? before->skipped : before->wrong));
        }
  }

  void judge_all() {
    std::vector<LogRatios> comparisons;
    std::vector<size_t> judged;
    for (size_t i = 0; i < anchors_.size(); ++i) {
      if (anchors_[i].empty()) continue;
      const Anchor& k = anchors_[i].front();
      comparisons.push_back({k.base.values, k.fresh.values, result_.sessions ? 0 : std::log1p(kOneProcess)});
      judged.push_back(i);
    }
    const auto times = std::count_if(result_.changes.begin(), result_.changes.end(),
                                     [](const Change& c) { return c.failed.empty() && c.base_seconds > 0; });
    result_.unusable_base = times > 0 && without_base_ == times;
    if (comparisons.empty()) return;
    const auto judgements = judge(comparisons, options_.verdict);
    for (size_t n = 0; n < judged.size(); ++n) {
      Change& c = result_.changes[judged[n]];
      c.judgement = judgements[n];
      c.measured = true;
      withhold_lost(c, anchors_[judged[n]].front());
      withhold_refused(c);
      withhold_contradicted(c, anchors_[judged[n]]);
      withhold_moved(c);
      if (c.judgement.verdict == Verdict::undecided && c.reason.empty()) {
        c.reason = c.judgement.noise;
        c.by_noise = !c.reason.empty();
      }
      const int needed = sessions_needed(c.base_units, int(comparisons.size()), options_.verdict);
      if (c.judgement.verdict == Verdict::undecided && c.reason.empty() && c.fresh_units < needed)
        c.reason = fmt::format("too few {}: {} against {}, {} are needed",
                               result_.sessions ? "sessions" : "rounds", c.fresh_units, c.base_units, needed);
    }
  }

  /// What is left of a run that lost much was selected by luck: nothing is decided with it.
  void withhold_lost(Change& c, const Anchor& anchor) const {
    if (!anchor.base.lost_a_third() && !anchor.fresh.lost_a_third()) return;
    c.judgement.verdict = Verdict::undecided;
    c.by_noise = true;
    c.reason = text_of_loss(anchor) + "; a third is too much to leave out";
  }

  /// A time that was refused is none. In few sessions that is noise of the ceiling, in more it is not.
  void withhold_refused(Change& c) const {
    for (const auto& [run, name] : {std::pair{&base_, "the base"}, {&fresh_, "the new run"}}) {
      int refused = 0, all = 0;
      for (const auto& [key, sessions] : *run)
        for (const auto& [session, ladder] : sessions)
          if (const auto at = ladder.find(c.variant);
              at != ladder.end() && key_of(*at->second) == key_of(c)) {
            ++all;
            refused += is_refused(*at->second) ? 1 : 0;
          }
      if (refused == 0 || 3 * refused < all) continue;
      c.judgement.verdict = Verdict::undecided;
      c.reason =
          fmt::format("its time was refused in {} of {} sessions of {}: it is below what its work takes",
                      refused, all, name);
    }
  }

  static void withhold_contradicted(Change& c, const std::vector<Anchor>& anchors) {
    Judgement& j = c.judgement;
    if (j.verdict != Verdict::slower && j.verdict != Verdict::faster) return;
    for (size_t i = 1; i < anchors.size(); ++i) {
      const Shift s = shift_of(anchors[i].base.values, anchors[i].fresh.values, 0.05);
      const bool contradicts = j.verdict == Verdict::slower ? s.high < j.margin : s.low > -j.margin;
      if (!contradicts) continue;
      c.reason = fmt::format("{} against {} ({:+.1f} %), but not against {} ({:+.1f} %): an anchor changed",
                             j.verdict == Verdict::slower ? "slower" : "faster", anchors[0].name,
                             100 * std::expm1(j.change.value), anchors[i].name, 100 * std::expm1(s.value));
      j.verdict = Verdict::undecided;
      return;
    }
  }

  static void withhold_moved(Change& c) {
    Judgement& j = c.judgement;
    if (j.verdict != Verdict::slower && j.verdict != Verdict::faster) return;
    if (std::abs(c.machine) < std::log(kMoved) || std::abs(j.change.value) > std::abs(c.machine)) return;
    c.reason = fmt::format(
        "{} by {:+.1f} %, but the machine itself ran at {:.2f} times its speed of then, and that does not "
        "change all code alike: record the base again",
        j.verdict == Verdict::slower ? "slower" : "faster", 100 * std::expm1(j.change.value),
        std::exp(c.machine));
    j.verdict = Verdict::undecided;
  }

  const ComparisonOptions& options_;
  std::map<std::string, Sessions> base_, fresh_;
  std::vector<std::vector<Anchor>> anchors_;  // one per change
  CompareResult result_;
  int without_base_ = 0;  // variants for which the base has no usable session
  bool same_machine_ = true;
};

}  // namespace

int CompareResult::count(Verdict verdict) const {
  return int(std::count_if(changes.begin(), changes.end(), [&](const Change& c) {
    return c.failed.empty() && c.judgement.verdict == verdict;
  }));
}

CompareResult compare_runs(const Recording& base, const Recording& fresh, const ComparisonOptions& options) {
  return Comparer(base, fresh, options).compare();
}

std::vector<const Change*> CompareResult::hidden_slowdowns() const {
  std::vector<const Change*> list;
  for (const Change& c : changes)
    if (c.failed.empty() && c.judgement.verdict == Verdict::undecided && c.by_noise &&
        c.judgement.change.value > widest)
      list.push_back(&c);
  return list;
}

int exit_code_of(const CompareResult& result, bool strict) {
  bool failed = false;
  for (const Change& c : result.changes) failed = failed || !c.failed.empty();
  if (failed || result.count(Verdict::slower) > 0) return 1;
  const int undecided = result.count(Verdict::undecided);
  if (undecided == int(result.changes.size()) || !result.hidden_slowdowns().empty()) return 2;
  return strict && (undecided > 0 || !result.missing.empty()) ? 2 : 0;
}

int usable_sessions(const Recording& run) {
  std::set<int> all;
  for (const Row& r : run.rows)
    if (!r.seconds.empty() && !is_refused(r)) all.insert(r.session);
  return int(all.size());
}

std::string key_of(const Row& r) {
  return fmt::format("{}|{}|{}|{}", r.variant, r.shape, r.threads, cache_state(r.cache));
}
std::string key_of(const Change& c) {
  return fmt::format("{}|{}|{}|{}", c.variant, c.shape, c.threads, c.cache);
}

}  // namespace klab
