#include "labs/radiance/tune/race.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>

#include "harness/timing/statistics.h"

namespace klab {
namespace {

constexpr const char* kNoMemory = "there is no memory for it";

/// Returns the indices of the candidates still in the race.
template <class Candidate>
std::vector<size_t> left_of(const std::vector<Candidate>& candidates) {
  std::vector<size_t> left;
  for (size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].out.empty()) left.push_back(i);
  return left;
}

template <class Candidate>
std::vector<size_t> some_left(const std::vector<Candidate>& candidates) {
  std::vector<size_t> left = left_of(candidates);
  if (left.empty()) throw std::runtime_error("nothing of what was tried can run: " + candidates.front().out);
  return left;
}

size_t fastest_of(const std::vector<Racer>& racers, const std::vector<size_t>& left) {
  return *std::ranges::min_element(left, {}, [&](size_t i) { return median(racers[i].seconds); });
}

/// Removes racers that are clearly slower than the fastest. Returns true if nothing is left to decide.
bool decide(std::vector<Racer>& racers, double same) {
  const std::vector<size_t> left = left_of(racers);
  const size_t best = fastest_of(racers, left);
  bool open = false;
  for (const size_t i : left) {
    if (i == best) continue;
    const Estimate slower = ratio_interval(racers[i].seconds, racers[best].seconds);
    if (slower.low > 1 + same)
      racers[i].out = fmt::format("{:.2f}x as slow after {} rounds", slower.value, slower.n);
    else
      open = open || slower.high > 1 + same;
  }
  return !open;
}

/// Returns the common rounds; a racer that left earlier has fewer.
std::vector<double> first_rounds(const std::vector<double>& seconds, size_t count) {
  return {seconds.begin(), seconds.begin() + std::ptrdiff_t(std::min(count, seconds.size()))};
}

}  // namespace

size_t race(std::vector<Racer>& racers, const std::function<double(size_t)>& measure,
            const RaceOptions& options) {
  if (racers.empty()) throw std::invalid_argument("nothing to choose from");
  for (int round = 0; round < options.most; ++round) {
    for (const size_t i : some_left(racers)) {
      if (options.stop()) break;
      try {
        racers[i].seconds.push_back(measure(i));
      } catch (const std::bad_alloc&) {
        racers[i].out = kNoMemory;
      }
    }
    if (options.stop()) break;
    if (some_left(racers).size() == 1) break;
    if (round + 1 >= options.least && decide(racers, options.same)) break;
  }
  // Drop an unfinished round.
  std::vector<size_t> left = some_left(racers);
  size_t whole = racers[left.front()].seconds.size();
  for (const size_t i : left) whole = std::min(whole, racers[i].seconds.size());
  for (const size_t i : left) racers[i].seconds.resize(whole);
  if (whole == 0) return 0;
  const size_t best = fastest_of(racers, left);
  return racers.front().out.empty() && times_as_slow(racers[best], racers.front()) <= 1 + options.same ? 0
                                                                                                       : best;
}

double times_as_slow(const Racer& a, const Racer& b) {
  const size_t both = std::min(a.seconds.size(), b.seconds.size());
  if (both == 0) return 1;
  return median(ratios(first_rounds(b.seconds, both), first_rounds(a.seconds, both)));
}

size_t halve(std::vector<Contender>& contenders, const std::function<double(size_t, double)>& train,
             const HalvingOptions& options) {
  if (contenders.empty()) throw std::invalid_argument("nothing to choose from");
  int stages = 0;
  while ((size_t(1) << stages) < contenders.size()) ++stages;
  std::vector<size_t> left = some_left(contenders);
  for (int stage = 0; stage <= stages && left.size() > 1 && !options.stop(); ++stage) {
    const double until = options.seconds / double(size_t(1) << (stages - stage));
    for (const size_t i : left) {
      if (options.stop()) return 0;
      try {
        const double score = train(i, until);
        contenders[i].seconds.push_back(until);
        contenders[i].score.push_back(score);
      } catch (const std::bad_alloc&) {
        contenders[i].out = kNoMemory;
      }
    }
    left = some_left(contenders);
    std::ranges::stable_sort(left, std::ranges::greater{},
                             [&](size_t i) { return contenders[i].score.back(); });
    const size_t stay = stage == stages ? 1 : (left.size() + 1) / 2;
    for (size_t k = stay; k < left.size(); ++k)
      contenders[left[k]].out =
          fmt::format("{:.2f} below the best after {:.0f} s",
                      contenders[left[0]].score.back() - contenders[left[k]].score.back(), until);
    left.resize(std::min(stay, left.size()));
  }
  const size_t best = left.front();
  const size_t both = std::min(contenders[0].score.size(), contenders[best].score.size());
  if (both == 0) return contenders[0].out.empty() ? 0 : best;
  return contenders[best].score[both - 1] - contenders[0].score[both - 1] <= options.same ? 0 : best;
}

double time_saved(const Contender& fast, const Contender& slow) {
  const size_t both = std::min(fast.score.size(), slow.score.size());
  if (both == 0) return 1;
  // If the fast one already had the slow one's last score earlier, interpolate when.
  const double wanted = slow.score[both - 1], at = slow.seconds[both - 1];
  if (fast.score[0] >= wanted) return at / fast.seconds[0];  // a lower bound
  for (size_t k = 1; k < both; ++k) {
    if (fast.score[k] < wanted) continue;
    const double share = (wanted - fast.score[k - 1]) / (fast.score[k] - fast.score[k - 1]);
    return at / (fast.seconds[k - 1] * std::pow(fast.seconds[k] / fast.seconds[k - 1], share));
  }
  return 1;
}

}  // namespace klab
