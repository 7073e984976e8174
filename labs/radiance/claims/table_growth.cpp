// Experiment table_growth: does a hash table that starts small and grows learn faster, early on? Compares it with a fixed table of the
// size that it may grow to, at equal steps, on the built-in scene at a size that takes seconds.
#include <fmt/format.h>

#include <array>

#include "labs/radiance/claims/small_runs.h"
#include "labs/radiance/field/table.h"

namespace klab::learning::table_growth_claim {
namespace {

const Claim kFaster{.id = "table_growth.early",
                    .said = "a table that starts small and grows converges faster",
                    .source = "plan",
                    .metric = "dB gained over a fixed table of the size that it may grow to, at equal steps",
                    .rule = at_least(0.1),
                    .on = "the step"};
const Claim kFewer{.id = "table_growth.entries",
                   .said = "a table that grows ends with fewer entries than a fixed one",
                   .source = "plan",
                   .metric = "entries at the end over those of the fixed table",
                   .rule = at_most(0.9)};

constexpr std::array<int64_t, 4> kAt = {20, 40, 80, 150};

/// A training, measured at some steps.
struct Trained {
  std::array<double, kAt.size()> psnr{}, seconds{};
  std::array<int64_t, kAt.size()> entries{};
};

Trained train(bool adaptive, uint64_t seed) {
  Config c = small_hash_config();
  c.log2_table = 14;
  c.grid_warmup = 32;  // growth begins after the warm-up, and the training is short
  if (adaptive) {
    c.table = "adaptive";
    c.table_every = 8;
  }
  Trainer trainer(small_built_in_scene(), c, small_hash_plan(c), seed);
  Trained t;
  double spent = 0;
  int64_t step = 0;
  for (size_t i = 0; i < kAt.size(); ++i) {
    const double begin = processor_seconds();
    for (; step < kAt[i]; ++step) trainer.step(double(step) / double(kAt.back()));
    spent += processor_seconds() - begin;
    t.seconds[i] = spent;
    t.psnr[i] = small_psnr(trainer.averaged());
    t.entries[i] = trainer.model().entries_in_use();
  }
  return t;
}

Outcome run(uint64_t seed) {
  const OneThread one;
  Outcome out;
  out.heads = {"table", "steps", "entries", "PSNR", "processor time"};
  out.x = "step";
  out.y = "PSNR, dB";
  const Trained fixed = train(false, seed), grown = train(true, seed);
  std::vector<ClaimRow> gained;
  std::string text;
  for (const auto& [name, t] : {std::pair("fixed", &fixed), {"grows", &grown}}) {
    Curve curve{name, {}};
    for (size_t i = 0; i < kAt.size(); ++i) {
      curve.points.emplace_back(kAt[i], t->psnr[i]);
      out.rows.push_back({name, std::to_string(kAt[i]), std::to_string(t->entries[i]), db_text(t->psnr[i]),
                          fmt::format("{:.2f} s", t->seconds[i])});
    }
    out.curves.push_back(curve);
  }
  for (size_t i = 0; i < kAt.size(); ++i) {
    gained.push_back({fmt::format("after {} steps", kAt[i]), {grown.psnr[i] - fixed.psnr[i]}});
    text += fmt::format("{}after {} steps {} with {} entries, {} with a fixed table", i == 0 ? "" : "; ",
                        kAt[i], db_text(grown.psnr[i]), grown.entries[i], db_text(fixed.psnr[i]));
  }
  const auto last = kAt.size() - 1;
  out.decided = {decide(kFaster, gained, text),
                 decide(kFewer, double(grown.entries[last]) / double(fixed.entries[last]),
                        fmt::format("{} entries where the fixed table has {}", grown.entries[last],
                                    fixed.entries[last]))};
  return out;
}

const ExperimentRegistrar registrar({"table_growth",
                                     "a hash table that grows, step by step against a fixed one",
                                     run,
                                     nullptr,
                                     {kFaster, kFewer}});

}  // namespace
}  // namespace klab::learning::table_growth_claim
