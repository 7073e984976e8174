// Shrinks the choices of a run, in a fixed order, until it fits its memory budget.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "harness/records/memory_left.h"
#include "labs/radiance/run/budget.h"

namespace klab {
namespace {

constexpr int64_t kLeastTable = 12;    // log2_table
constexpr int64_t kLeastResident = 2;  // pictures
constexpr int64_t kFairResident = 16;  // pictures that matter more than a larger batch
constexpr int64_t kLeastPixels = 512;  // of a picture at a time

/// Tries choices from the largest to the smallest.
class MemorySearch {
 public:
  MemorySearch(const MemoryFacts& facts, const MemoryChoice& wanted, int64_t budget)
      : f_(facts), wanted_(wanted), budget_(budget), views_(int64_t(facts.scene->train.size())) {}

  /// Finds the first that fits; returns false if none does.
  bool fit(MemoryChoice& found) const {
    if (fits(wanted_)) return found = wanted_, true;
    MemoryChoice c = wanted_;
    c.cold = 0;
    if (fits(c)) return found = c, true;
    c.ceilings = false;
    if (fits(c)) return found = c, true;
    if (f_.trainer > 0) return false;
    const int64_t table = wanted_.config.log2_table,
                  least = f_.resumed > 0 ? table : std::min(table, kLeastTable);
    const int64_t batch = wanted_.config.batch_samples;
    for (int64_t t = table; t >= least; --t)
      for (int64_t b = batch; b >= std::max(f_.least_batch, batch / 4); b /= 2)
        if (with(t, b, std::min(views_, kFairResident), found)) return true;
    for (int64_t b = batch; b >= std::min(batch, f_.least_batch); b /= 2)
      if (with(least, b, std::min(views_, kLeastResident), found)) return true;
    return false;
  }
  MemoryChoice least() const {
    MemoryChoice c = wanted_;
    c.cold = 0;
    c.ceilings = false;
    if (f_.trainer > 0) return c;
    if (f_.resumed == 0) c.config.log2_table = std::min(c.config.log2_table, kLeastTable);
    while (c.config.batch_samples / 2 >= f_.least_batch) c.config.batch_samples /= 2;
    c.config.first_rays = std::min(c.config.first_rays, c.config.batch_samples);
    c.pixels = kLeastPixels;
    if (f_.scene->on_the_disk()) c.resident = std::min(views_, kLeastResident);
    return c;
  }

 private:
  bool fits(const MemoryChoice& c) const { return memory_account(f_, c).total() <= budget_; }

  /// Tries a table and a batch with as many pictures as fit, `fewest` at least.
  bool with(int64_t table, int64_t batch, int64_t fewest, MemoryChoice& found) const {
    MemoryChoice c = wanted_;
    c.cold = 0;
    c.ceilings = false;
    c.config.log2_table = table;
    c.config.batch_samples = batch;
    c.config.first_rays = std::min(c.config.first_rays, batch);
    for (c.pixels = Renderer::kRays; c.pixels >= kLeastPixels; c.pixels /= 2) {
      c.resident = 0;
      if (fits(c)) return found = c, true;
      if (!f_.scene->on_the_disk()) continue;
      c.resident = fewest;
      if (!fits(c)) continue;
      int64_t low = fewest, high = views_ - 1;
      while (low < high) {
        c.resident = (low + high + 1) / 2;
        (fits(c) ? low : high) = fits(c) ? c.resident : c.resident - 1;
      }
      c.resident = std::max(low, fewest);
      return found = c, true;
    }
    return false;
  }

  const MemoryFacts& f_;
  const MemoryChoice& wanted_;
  int64_t budget_, views_;
};

std::vector<std::string> differences(const MemoryFacts& f, const MemoryChoice& from, const MemoryChoice& to) {
  std::vector<std::string> list;
  if (to.cold < from.cold) list.emplace_back("rungs timed cold on one copy of their operands");
  if (from.ceilings && !to.ceilings) list.emplace_back("no ceilings of stages");
  if (to.resident > 0)
    list.push_back(fmt::format("{} of {} pictures at a time", to.resident, f.scene->train.size()));
  if (to.config.batch_samples < from.config.batch_samples)
    list.push_back(fmt::format("batch {} instead of {}", to.config.batch_samples, from.config.batch_samples));
  if (to.config.log2_table < from.config.log2_table)
    list.push_back(fmt::format("log2_table {} instead of {}", to.config.log2_table, from.config.log2_table));
  return list;
}

/// Describes how to lower the minimum: the largest shares, and the options that set them.
std::string remedies(const MemoryAccount& least, const MemoryFacts& f) {
  std::string text;
  const auto add = [&](const std::string& owner, const std::string& remedy) {
    if (least.of(owner) * 10 > least.total()) text += (text.empty() ? "" : ", ") + remedy;
  };
  add("pictures", "--downscale 2");
  if (f.trainer > 0) return (text.empty() ? "" : text + ", or ") + f.remedy;
  add("grid", "a smaller \"grid\" in the config");
  add("batch", "a smaller \"max_samples_per_ray\" or \"width\"");
  add("table", f.resumed > 0 ? "a new run with a smaller \"log2_table\"" : "fewer \"levels\"");
  add("scratch", f.resumed > 0 ? "a new run" : "--no-eval");
  return text.empty() ? "a smaller \"grid\" or fewer \"levels\" in the config" : text;
}

/// The choice with all copies for cold timing, where they take no more than what is needed anyhow at another time of the run.
MemoryChoice with_free_copies(const MemoryFacts& facts, MemoryChoice choice, int64_t copies, int64_t bytes) {
  const int64_t fewer = std::exchange(choice.cold, copies);
  if (memory_account(facts, choice).total() > bytes) choice.cold = fewer;
  return choice;
}

}  // namespace

MemoryPlan fit_memory(const MemoryFacts& facts, const MemoryChoice& wanted, const MemoryBudget& budget) {
  const MemorySearch search(facts, wanted, budget.bytes);
  MemoryPlan plan;
  if (!search.fit(plan.choice)) {
    const MemoryAccount least = memory_account(facts, search.least());
    const MemoryChoice choice = with_free_copies(facts, search.least(), wanted.cold, least.total());
    throw std::runtime_error(
        fmt::format("{} {} is too little: this run takes {} at least, with {}; to lower that: {}",
                    budget.whose, bytes_text(budget.bytes), bytes_text(least.total()),
                    fmt::join(differences(facts, wanted, choice), ", "), remedies(least, facts)));
  }
  plan.choice = with_free_copies(facts, plan.choice, wanted.cold, budget.bytes);
  plan.account = memory_account(facts, plan.choice);
  plan.smaller = differences(facts, wanted, plan.choice);
  return plan;
}

int64_t cold_share(const MemoryBudget& budget) {
  constexpr int64_t kShare = 8;
  return std::min(kMostColdBytes, budget.bytes / kShare);
}

MemoryBudget memory_budget(std::optional<int64_t> given, int64_t program, int64_t reserve) {
  if (given && reserve == 0) return {*given, "--memory"};
  const int64_t free = available_memory();
  // If the system does not report free memory, nothing is made smaller.
  if (free <= 0)
    return {given.value_or(std::numeric_limits<int64_t>::max() / 4), given ? "--memory" : "what is free"};
  if (reserve >= free)
    throw std::runtime_error(
        fmt::format("--reserve {}: only {} are free; reserve less, or close other programs",
                    bytes_text(reserve), bytes_text(free)));
  const int64_t left = free + program - reserve;
  if (given && *given <= left) return {*given, "--memory"};
  return {left, reserve > 0 ? "what is free but for --reserve" : "what is free"};
}

}  // namespace klab
