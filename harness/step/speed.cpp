#include "harness/step/speed.h"

#include <fmt/core.h>
#include <algorithm>
#include <cmath>

namespace klab {
namespace {

constexpr double kLeastGain = 1.05;
constexpr double kShared = 0.2;  // hardware threads

double median_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  return median(ratios(a, b));
}

}  // namespace

const char* name_of(Speed speed) {
  switch (speed) {
    case Speed::not_asked:
      return "not asked";
    case Speed::enough:
      return "fast enough";
    case Speed::some:
      return "faster, but not enough";
    case Speed::none:
      return "no faster";
    case Speed::slower:
      return "slower";
    case Speed::undecided:
      return "undecided";
  }
  return "?";
}

namespace {

SpeedVerdict judge_here(const StepTimes& t) {
  SpeedVerdict v;
  if (t.yours.empty() || t.parent.empty()) {
    v.why = "the parent could not be timed next to it";
    return v;
  }
  v.over_parent = ratio_interval(t.parent, t.yours);
  if (!t.of_ceiling.empty()) v.of_ceiling = median(t.of_ceiling);
  if (!t.own.empty()) {
    v.own_over_parent = median_ratio(t.parent, t.own);
    v.of_own = median_ratio(t.own, t.yours);
  }
  const double claimed = t.expected, reached = t.own.empty() ? claimed : v.own_over_parent;
  if (claimed < kLeastGain)
    v.why = "this step is not about time at this size";
  else if (reached < kLeastGain)
    v.why = "klab's own rung gains nothing on this machine either";
  else
    v.asked = 1 + (std::min(claimed, reached) - 1) / 2;
  const double value = v.over_parent->value;
  if (v.asked == 0 && claimed >= kLeastGain && v.over_parent->high < 0.97) {
    // If klab's own rung is as slow, the machine or other work is the cause. If the file is slower than that,
    // it is the file.
    if (v.own_over_parent >= 0.97 || v.of_own < 0.7) v.speed = Speed::slower;
  }
  // klab's rung shows none of its claimed gain while the processors are shared, so the result is undecided.
  if (v.asked == 0 && claimed >= kLeastGain && t.others > kShared) {
    v.speed = Speed::undecided;
    v.why = "klab's own rung gains nothing just now, and something else keeps the machine busy: check again";
  }
  if (v.asked == 0) return v;
  if (value >= v.asked)
    v.speed = v.over_parent->low > 1 ? Speed::enough : Speed::undecided;
  else if (v.over_parent->high < 0.97)
    v.speed = Speed::slower;
  else
    v.speed = v.over_parent->low > 1 && value >= kLeastGain ? Speed::some : Speed::none;
  if (v.speed == Speed::undecided)
    v.why = "the times scatter too much: something else keeps the machine busy";
  return v;
}

/// Returns the problem at another size; empty if there is none beyond doubt.
std::optional<Speed> judge_there(const StepTimes& t, std::string& why) {
  if (t.parent.empty() || t.yours.empty() || t.own.empty()) return {};
  const Estimate yours = ratio_interval(t.parent, t.yours), own = ratio_interval(t.parent, t.own);
  const bool loses = own.low > 0.95 && yours.high < 0.8;
  const bool misses = own.low > 1.3 && yours.high < 1 + (own.low - 1) / 3;
  if (!loses && !misses) return {};
  why = fmt::format("at {} it is {:.2f} times the parent, where klab's own rung is at {:.2f}", t.size,
                    yours.value, own.value);
  return loses ? Speed::slower : Speed::some;
}

}  // namespace

SpeedVerdict judge_times(const StepTimes& t) {
  SpeedVerdict v = judge_here(t);
  for (const StepTimes& other : t.elsewhere) {
    if (v.speed != Speed::enough && v.speed != Speed::not_asked) break;
    if (const auto wrong = judge_there(other, v.why)) v.speed = *wrong;
  }
  return v;
}

CountVerdict judge_counts(const StepCounts& parent, const StepCounts& yours, const StepCounts& own) {
  CountVerdict v;
  const auto of = [](const StepCounts& c, const std::string& name) {
    const auto at = c.find(name);
    return at == c.end() ? int64_t(0) : at->second;
  };
  bool asked = false, all = true, any = false, worse = false;
  StepCounts names = parent;
  names.insert(yours.begin(), yours.end());
  names.insert(own.begin(), own.end());
  for (const auto& [name, ignored] : names) {
    CountVerdict::Line line{name, of(parent, name), of(yours, name), of(own, name)};
    const double from = double(line.parent), to = double(line.own);
    line.asked = to < 0.9 * from && name != kThreads && name != kSharedBytes;
    line.reached = !line.asked || double(line.yours) <= (from + to) / 2;
    const bool waste = name.ends_with("sectors") || name == "bank conflicts";
    const bool asks = name.ends_with("requests");
    const std::string requests =
        name == "bank conflicts" ? "shared requests" : name.substr(0, name.find(' ')) + " requests";
    line.worse = (asks && double(line.yours) > 4 * std::max(from, to) && from + to > 0) ||
                 (waste && double(line.yours) > 2 * std::max(from, to) &&
                  double(line.yours) > std::max(from, to) + 0.1 * double(of(yours, requests)));
    worse = worse || line.worse;
    asked = asked || line.asked;
    all = all && line.reached;
    any = any || (line.asked && double(line.yours) < 0.95 * from);
    if (line.parent != 0 || line.yours != 0 || line.own != 0) v.lines.push_back(std::move(line));
  }
  for (auto& line : v.lines) {
    if (asked || line.name != kSharedBytes || line.own >= line.parent) continue;
    line.asked = asked = true;
    line.reached = all = line.yours <= (line.parent + line.own) / 2;
    any = line.reached;
  }
  if (worse)
    v.speed = Speed::some;
  else if (!asked)
    v.why = "klab's own rung changes no count either: only a GPU shows what it brings";
  else
    v.speed = all ? Speed::enough : any ? Speed::some : Speed::none;
  return v;
}

CountVerdict judge_counts(const StepCountsThere& here, const std::vector<StepCountsThere>& elsewhere) {
  CountVerdict v = judge_counts(here.parent, here.yours, here.own);
  for (const StepCountsThere& there : elsewhere) {
    if (v.speed != Speed::enough && v.speed != Speed::not_asked) break;
    const CountVerdict other = judge_counts(there.parent, there.yours, there.own);
    if (other.speed == Speed::not_asked) continue;
    v.speed = other.speed;
    v.why.clear();
    if (other.speed == Speed::enough) continue;
    v.speed = Speed::some;
    for (const auto& l : other.lines)
      if ((l.asked && !l.reached) || l.worse)
        v.why += (v.why.empty() ? "" : "; ") + fmt::format("at {} {} are {}, the parent's {}, klab's {}",
                                                           there.shape, l.name, l.yours, l.parent, l.own);
  }
  return v;
}

}  // namespace klab
