// Experiment memory_errors: in how many budgets does a training end for lack of memory, with a manager that makes things smaller and
// without one? Counted with the account of memory (labs/radiance/run/budget.h), which is computed before anything is allocated.
#include <fmt/format.h>

#include <optional>
#include <stdexcept>

#include "labs/radiance/claims/small_runs.h"
#include "labs/radiance/run/budget.h"

namespace klab::learning::memory_errors_claim {
namespace {

constexpr int kBudgets = 20;
constexpr int64_t kProgram = 40'000'000;  // bytes of a process without data, about

const Claim kFewer{.id = "memory_errors.fewer",
                   .said = "a memory manager has fewer out-of-memory errors",
                   .source = "plan",
                   .metric = "budgets too small with it over those too small without it, of twenty",
                   .rule = at_most(0.9),
                   .kind = ClaimKind::exact};
const Claim kNone{.id = "memory_errors.none",
                  .said = "a memory manager ends out-of-memory errors",
                  .source = "plan",
                  .metric = "budgets too small with it, of twenty",
                  .rule = at_most(0),
                  .kind = ClaimKind::exact};

/// The choice that fits, or nothing where none does.
std::optional<MemoryPlan> fitted(const MemoryFacts& facts, const MemoryChoice& wanted, int64_t bytes) {
  try {
    return fit_memory(facts, wanted, {bytes, "the budget"});
  } catch (const std::runtime_error&) {  // no choice fits
    return std::nullopt;
  }
}

Outcome run(uint64_t) {
  Outcome out;
  out.heads = {"budget", "of what is wanted", "without a manager", "with one", "batch", "log2_table"};
  out.x = "budget, MB";
  out.y = "samples in a batch";
  const Config config;
  MemoryChoice wanted;
  wanted.config = config;
  MemoryFacts facts;
  facts.scene = &small_built_in_scene();
  facts.program = kProgram;
  facts.timed = training_calls(config, small_built_in_scene().cascades);
  const int64_t whole = memory_account(facts, wanted).total();
  int without = 0, with = 0;
  Curve batches{"batch that fits", {}};
  for (int k = 1; k <= kBudgets; ++k) {
    const int64_t bytes = whole / kBudgets * k + (k == kBudgets ? whole % kBudgets : 0);
    const bool fits = bytes >= whole;
    const auto plan = fitted(facts, wanted, bytes);
    without += fits ? 0 : 1;
    with += plan ? 0 : 1;
    if (plan) batches.points.emplace_back(double(bytes) * 1e-6, plan->choice.config.batch_samples);
    out.rows.push_back({bytes_text(bytes), fmt::format("{} %", 100 * k / kBudgets),
                        fits ? "trains" : "too little", plan ? "trains" : "too little",
                        plan ? std::to_string(plan->choice.config.batch_samples) : "-",
                        plan ? std::to_string(plan->choice.config.log2_table) : "-"});
  }
  out.curves = {batches};
  const std::string text = fmt::format(
      "of {} budgets up to the {} that a training takes, {} are too small without a manager and {} with one, "
      "which makes batch and table smaller",
      kBudgets, bytes_text(whole), without, with);
  out.decided = {decide(kFewer, double(with) / double(without), text), decide(kNone, with, text)};
  return out;
}

const ExperimentRegistrar registrar(
    {"memory_errors",
     "budgets that a training does not fit in, with a memory manager and without one",
     run,
     nullptr,
     {kFewer, kNone}});

}  // namespace
}  // namespace klab::learning::memory_errors_claim
