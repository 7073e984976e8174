// Experiment batch_rules: compares the batch found by thresholds on memory with all batches tried.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "labs/radiance/claims/small_runs.h"
#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/run/budget.h"

namespace klab::learning::batch_rules_claim {
namespace {

const Claim kThresholds{
    .id = "batch_rules.thresholds",
    .said =
        "thresholds of 0.7, 0.8, 0.9 and 0.95 of the memory with doubling and halving find the best batch",
    .source = "plan",
    .metric = "dB behind the best batch after equal time",
    .rule = at_most(0.3),
    .kind = ClaimKind::timed,
    .on = "the budget"};
const Claim kAdapts{.id = "batch_rules.adapts",
                    .said = "a batch that adapts to memory trains 20 to 40 % faster",
                    .source = "plan",
                    .metric = "samples a second over those of a batch of 1024",
                    .rule = at_least(1.2),
                    .kind = ClaimKind::timed,
                    .on = "the budget"};

using Clock = std::chrono::steady_clock;

constexpr double kSeconds = 2.5;  // of each training
constexpr int64_t kFirst = 1024, kLeast = 256, kMost = 1 << 16;

Config with_batch(int64_t samples) {
  Config c = small_hash_config();
  c.batch_samples = samples;
  c.first_rays = std::max<int64_t>(1, samples / 32);
  return c;
}

struct Trained {
  double psnr = 0, rate = 0;  // dB, samples per second
  int64_t steps = 0;
};

/// Trains for a fixed time of steps, whatever a step costs.
Trained train(const Scene& scene, int64_t samples, uint64_t seed) {
  const Config config = with_batch(samples);
  const Plan plan = small_plan(config, scene.cascades);
  Trainer trainer(scene, config, plan, seed);
  Trained t;
  double learned = 0, seconds = 0;
  const auto begin = Clock::now();
  for (; seconds < kSeconds; seconds = std::chrono::duration<double>(Clock::now() - begin).count()) {
    learned += double(trainer.step(seconds / kSeconds).samples);
    ++t.steps;
  }
  t.rate = learned / seconds;
  t.psnr = evaluate(trainer.averaged(), plan, scene.test).psnr;
  return t;
}

/// The claimed rule: below 0.7 of the memory the batch doubles; up to 0.8 it stays; up to 0.9 it stays with a
/// warning; above 0.95 it halves; between these it shrinks by a quarter. Repeats until a batch comes back.
int64_t by_thresholds(const std::map<int64_t, int64_t>& bytes, int64_t budget) {
  int64_t batch = kFirst;
  std::set<int64_t> been;
  while (been.insert(batch).second) {
    const double used = double(bytes.at(batch)) / double(budget);
    const int64_t next = used < 0.7    ? 2 * batch
                         : used > 0.95 ? batch / 2
                         : used > 0.9  ? batch * 3 / 4
                                       : batch;
    // Batches are powers of two here: take the next one below.
    int64_t power = kLeast;
    while (2 * power <= std::clamp(next, kLeast, kMost)) power *= 2;
    batch = power;
  }
  return batch;
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"batch", "memory", "steps", "samples/s", "PSNR, dB"},
              .x = "samples in a batch",
              .y = "PSNR after equal time, dB",
              .log_x = true};
  const Scene scene = built_in_scene({.downscale = 16});
  std::map<int64_t, int64_t> bytes;
  std::map<int64_t, Trained> sweep;
  Curve curve{"all batches", {}};
  for (int64_t batch = kLeast; batch <= kMost; batch *= 2) {
    bytes[batch] = Trainer::bytes_of(scene, with_batch(batch));
    const Trained& t = sweep[batch] = train(scene, batch, seed);
    out.rows.push_back({std::to_string(batch), bytes_text(bytes[batch]), std::to_string(t.steps),
                        fmt::format("{:.2f} M", t.rate * 1e-6), fmt::format("{:.2f}", t.psnr)});
    curve.points.emplace_back(double(batch), t.psnr);
  }
  out.curves = {curve};

  // Budgets in which batches of these sizes just fit.
  std::vector<double> behind, faster;
  std::string found;
  for (const int64_t fits : {int64_t(1024), int64_t(8192), kMost}) {
    const auto budget = int64_t(1.3 * double(bytes[fits]));
    const int64_t chosen = by_thresholds(bytes, budget);
    int64_t best = kLeast;
    for (const auto& [batch, t] : sweep)
      if (bytes[batch] <= budget && t.psnr > sweep[best].psnr) best = batch;
    behind.push_back(sweep[best].psnr - sweep[chosen].psnr);
    faster.push_back(sweep[chosen].rate / sweep[kFirst].rate);
    found += fmt::format("{}in {} they find {}, and {} is best, by {:.2f} dB", found.empty() ? "" : "; ",
                         bytes_text(budget), chosen, best, behind.back());
  }
  const Measured gap = measured("dB behind the best batch", behind),
                 rates = measured("samples a second, over those of a batch of 1024", faster);
  const auto by_budget = [](const std::vector<double>& v) {
    return std::vector<ClaimRow>{
        {"room for 1024", {v[0]}}, {"room for 8192", {v[1]}}, {"room for 65536", {v[2]}}};
  };
  out.decided = {
      decide(kThresholds, by_budget(behind),
             found + ". They look at memory, which does not tell what is learned in a second"),
      decide(
          kAdapts, by_budget(faster),
          fmt::format(
              "from {:.2f} to {:.2f} of the samples a second of a fixed batch of {}, by the memory that is "
              "there, and from {:.2f} to {:.2f} dB behind the best: on the fixed batch it is held against, "
              "and on what faster is to mean",
              rates.low, rates.high, kFirst, gap.low, gap.high))};
  return out;
}

const ExperimentRegistrar registrar({"batch_rules",
                                     "Thresholds on memory that choose a batch, against all batches",
                                     run,
                                     nullptr,
                                     {kThresholds, kAdapts}});

}  // namespace
}  // namespace klab::learning::batch_rules_claim
