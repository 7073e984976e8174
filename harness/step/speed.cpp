#include "harness/step/speed.h"

#include <algorithm>
#include <cmath>

namespace klab {
namespace {

constexpr double kLeastGain = 1.05;

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

SpeedVerdict judge_times(const StepTimes& t) {
  SpeedVerdict v;
  if (t.yours.empty() || t.parent.empty()) {
    v.why = "the parent could not be timed beside it";
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

CountVerdict judge_counts(const StepCounts& parent, const StepCounts& yours, const StepCounts& own) {
  CountVerdict v;
  const auto of = [](const StepCounts& c, const std::string& name) {
    const auto at = c.find(name);
    return at == c.end() ? int64_t(0) : at->second;
  };
  bool asked = false, all = true, any = false;
  StepCounts names = parent;
  names.insert(yours.begin(), yours.end());
  names.insert(own.begin(), own.end());
  for (const auto& [name, ignored] : names) {
    CountVerdict::Line line{name, of(parent, name), of(yours, name), of(own, name)};
    const double from = double(line.parent), to = double(line.own);
    line.asked = to < 0.9 * from;
    line.reached = !line.asked || double(line.yours) <= (from + to) / 2;
    asked = asked || line.asked;
    all = all && line.reached;
    any = any || (line.asked && double(line.yours) < 0.95 * from);
    if (line.parent != 0 || line.yours != 0 || line.own != 0) v.lines.push_back(std::move(line));
  }
  if (!asked)
    v.why = "klab's own rung changes no count either: only a GPU shows what it brings";
  else
    v.speed = all ? Speed::enough : any ? Speed::some : Speed::none;
  return v;
}

}  // namespace klab
