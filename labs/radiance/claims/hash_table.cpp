// Experiment hash_table: tests claims about the table of a hash encoding, on the built-in scene at a size
// that takes seconds.
//
// A scene this small shows the direction of an effect, and whether it exceeds the difference between seeds;
// klab hash-study measures it for your own scene.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "labs/radiance/claims/small_runs.h"
#include "labs/radiance/field/table.h"

namespace klab::learning::hash_table_claim {
namespace {

const Claim kGrowth{.id = "hash_table.growth",
                    .said = "sixteen levels from 16, each twice as fine as the one before, end at 2048",
                    .source = "plan",
                    .metric = "finest resolution",
                    .rule = between(2047, 2049),
                    .kind = ClaimKind::exact};
const Claim kSmall{.id = "hash_table.too_small",
                   .said = "a table that is too small loses detail to collisions",
                   .source = "plan",
                   .metric = "dB gained by 2^14 entries a level over 2^6",
                   .rule = at_least(0.05)};
const Claim kFunctions{.id = "hash_table.functions",
                       .said = "a better hash function than the exclusive or of primes improves quality",
                       .source = "plan",
                       .metric = "dB gained",
                       .rule = at_least(0),
                       .on = "the function"};
const Claim kTenTimes{.id = "hash_table.rate",
                      .said = "the table learns best at ten times the learning rate of the networks",
                      .source = "plan",
                      .metric = "dB of ten times over the best of 1, 3 and 30 times",
                      .rule = at_least(0)};
const Claim kDecay{.id = "hash_table.decay",
                   .said = "a weight decay of 1e-6 on the networks improves quality",
                   .source = "plan",
                   .metric = "dB gained",
                   .rule = at_least(0)};
const Claim kGrows{
    .id = "hash_table.adaptive",
    .said = "a table that starts small and grows is as good as a fixed one of twice as many entries",
    .source = "plan",
    .metric = "dB gained over the fixed one",
    .rule = at_least(-0.2)};

constexpr int64_t kSteps = 150;

/// Result of a training.
struct Trained {
  double psnr = 0;
  std::vector<LevelUse> levels;
  int64_t entries = 0;
};

Trained train(const Config& config, uint64_t seed) {
  Trainer trainer(small_built_in_scene(), config, small_hash_plan(config), seed);
  train_for(trainer, {.most = kSteps});
  return {.psnr = small_psnr(trainer.averaged()),
          .levels = trainer.level_uses(),
          .entries = trainer.model().entries_in_use()};
}

void row(Outcome& out, const std::string& name, const Trained& t) {
  out.rows.push_back(
      {name, fmt::format("{}", t.entries), percent_text(t.levels.back().alone), db_text(t.psnr)});
}

Decided growth() {
  const double by_two = 16 * std::exp2(15), needed = hashgrid_growth(16, 16, 2048);
  return decide(
      kGrowth, by_two,
      fmt::format("16 levels by a factor of 2 end at {:.0f}; 2048 needs a factor of {:.4f}", by_two, needed));
}

void sizes(Outcome& out, const Trained& base, double noise, uint64_t seed) {
  Curve curve{.name = "table size", .points = {}};
  double first = 0, last = 0;
  for (const int64_t log2 : {6, 8, 10, 12, 14}) {
    Config c = small_hash_config();
    c.log2_table = log2;
    const Trained t = log2 == 12 ? base : train(c, seed);
    row(out, fmt::format("2^{} entries a level", log2), t);
    curve.points.emplace_back(double(t.entries), t.psnr);
    if (log2 == 6) first = t.psnr;
    last = t.psnr;
  }
  out.curves.push_back(curve);
  out.decided.push_back(
      decide(kSmall, last - first,
             fmt::format("{} with 2^6 entries a level, {} with 2^12, {} with 2^14; twice what "
                         "another seed makes is {:.2f} dB",
                         db_text(first), db_text(base.psnr), db_text(last), noise)));
}

void functions(Outcome& out, const Trained& base, double noise, uint64_t seed) {
  std::vector<ClaimRow> gained;
  std::string text = fmt::format("primes {}, {} of the finest level's points alone", db_text(base.psnr),
                                 percent_text(base.levels.back().alone));
  for (const char* hash : {"morton", "pcg", "tiled"}) {
    Config c = small_hash_config();
    c.hash = hash;
    const Trained t = train(c, seed);
    row(out, hash, t);
    gained.push_back({hash, {t.psnr - base.psnr}});
    text += fmt::format("; {} {}, {}", hash, db_text(t.psnr), percent_text(t.levels.back().alone));
  }
  out.decided.push_back(
      decide(kFunctions, gained, text + fmt::format("; twice what another seed makes is {:.2f} dB", noise)));
}

void rates(Outcome& out, const Trained& base, double noise, uint64_t seed) {
  Curve curve{.name = "rate of the table", .points = {{1, base.psnr}}};
  double ten = base.psnr, best = base.psnr;
  std::string text = fmt::format("times 1 {}", db_text(base.psnr));
  for (const double rate : {3.0, 10.0, 30.0}) {
    Config c = small_hash_config();
    c.table_rate = rate;
    const Trained t = train(c, seed);
    row(out, fmt::format("rate of the table x{:g}", rate), t);
    curve.points.emplace_back(rate, t.psnr);
    text += fmt::format(", times {:g} {}", rate, db_text(t.psnr));
    (rate == 10 ? ten : best) = rate == 10 ? t.psnr : std::max(best, t.psnr);
  }
  out.curves.push_back(curve);
  out.decided.push_back(
      decide(kTenTimes, ten - best,
             text + fmt::format("; networks at {:g}; twice what another seed makes is {:.2f} dB",
                                small_hash_config().learning_rate, noise)));
}

void decay(Outcome& out, const Trained& base, double noise, uint64_t seed) {
  Config c = small_hash_config();
  c.weight_decay = 1e-6;
  const Trained t = train(c, seed);
  row(out, "a weight decay of 1e-6", t);
  out.decided.push_back(
      decide(kDecay, t.psnr - base.psnr,
             fmt::format("{} with it, {} without; twice what another seed makes is {:.2f} dB",
                         db_text(t.psnr), db_text(base.psnr), noise)));
}

void adaptive(Outcome& out, const Trained& base, double noise, uint64_t seed) {
  Config c = small_hash_config();
  c.log2_table = 14;
  c.grid_warmup = 32;  // growth begins after the warm-up, and the training is short
  const Trained fixed = train(c, seed);
  c.table = "adaptive";
  c.table_every = 8;
  const Trained t = train(c, seed);
  row(out, "adaptive, of 2^14", t);
  out.decided.push_back(decide(
      kGrows, t.psnr - fixed.psnr,
      fmt::format("{} with {} entries, {} with a fixed table of {}, {} with one of {}; twice what another "
                  "seed makes is {:.2f} dB",
                  db_text(t.psnr), t.entries, db_text(fixed.psnr), fixed.entries, db_text(base.psnr),
                  base.entries, noise)));
}

Outcome run(uint64_t seed) {
  Outcome out;
  out.heads = {"table", "entries", "finest points alone", "PSNR"};
  out.x = "entries, or factor of the rate";
  out.y = "PSNR, dB";
  out.log_x = true;
  const Trained base = train(small_hash_config(), seed);
  row(out, "primes, 2^12", base);
  const double noise = std::max(0.05, 2 * std::abs(train(small_hash_config(), seed + 1).psnr - base.psnr));
  out.decided.push_back(growth());
  sizes(out, base, noise, seed);
  functions(out, base, noise, seed);
  rates(out, base, noise, seed);
  decay(out, base, noise, seed);
  adaptive(out, base, noise, seed);
  return out;
}

const ExperimentRegistrar registrar({"hash_table",
                                     "sizes, functions and rates of a hash encoding's table",
                                     run,
                                     nullptr,
                                     {kGrowth, kSmall, kFunctions, kTenTimes, kDecay, kGrows}});

}  // namespace
}  // namespace klab::learning::hash_table_claim
