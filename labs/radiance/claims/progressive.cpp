// Experiment progressive: does a field that learns coarse things first end higher? Small pictures first, or the levels of its table in
// turn, at equal steps on the built-in scene at a size that takes seconds; what entries that have stayed small are worth; and which
// levels of a table are to grow first.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "harness/records/tensor_file.h"
#include "labs/radiance/claims/small_runs.h"

namespace klab::learning::progressive_claim {
namespace {

namespace fs = std::filesystem;

const Claim kPictures{.id = "progressive.pictures",
                      .said = "training on small pictures first and on large ones afterwards ends higher",
                      .source = "plan",
                      .metric = "dB gained over large pictures alone, at equal steps",
                      .rule = at_least(0.05),
                      .on = "the share of the steps"};
const Claim kLevels{.id = "progressive.levels",
                    .said = "levels of the table that learn in turn, from the coarsest, end higher",
                    .source = "paper",
                    .metric = "dB gained over all levels at once, at equal steps",
                    .rule = at_least(0.05),
                    .on = "the share of the run"};
const Claim kSmall{.id = "progressive.small_entries",
                   .said = "entries of the table below 0.001 can be removed",
                   .source = "plan",
                   .metric = "dB lost without them",
                   .rule = at_most(0.05)};

const Claim kGradients{.id = "progressive.gradients",
                       .said = "levels of the table should grow where gradients are largest",
                       .source = "plan",
                       .metric = "dB gained over the coarsest crowded level first, in as few entries",
                       .rule = at_least(0.05)};

constexpr int64_t kSteps = 150;
constexpr int kSmaller = 2;  // the factor by which pictures are smaller at first

/// A file that is removed with its guard.
struct Kept {
  fs::path file;
  explicit Kept(uint64_t seed)
      : file(fs::temp_directory_path() / fmt::format("klab_progressive_{}_{}", ::getpid(), seed)) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    std::error_code ignored;
    fs::remove(file, ignored);
  }
};

const Scene& smaller_scene() {
  static const Scene scene = built_in_scene({.downscale = 16 * kSmaller});
  return scene;
}

void train_steps(Trainer& trainer, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; ++i) trainer.step(double(i) / double(kSteps));
}

/// Trains on small pictures for a share of the steps, then on large ones.
double small_first(double share, uint64_t seed) {
  const Config c = small_hash_config();
  const auto first = int64_t(share * double(kSteps));
  const Kept kept(seed);
  {
    Trainer trainer(smaller_scene(), c, small_hash_plan(c), seed);
    train_steps(trainer, 0, first);
    trainer.save(kept.file, {});
  }
  Trainer trainer(small_built_in_scene(), c, small_hash_plan(c), seed);
  trainer.restore(TensorFile(kept.file));
  train_steps(trainer, first, kSteps);
  return small_psnr(trainer.averaged());
}

/// Trains a table that grows and has room for an eighth of a fixed one's entries, its levels in this order.
double grown_by(const char* order, uint64_t seed) {
  Config c = small_hash_config();
  c.log2_table = 13;
  c.table = "adaptive";
  c.table_entries = c.levels << 10;
  c.table_every = 8;
  c.grid_warmup = 32;  // growth begins after the warm-up, and the training is short
  c.table_order = order;
  Trainer trainer(small_built_in_scene(), c, small_hash_plan(c), seed);
  train_steps(trainer, 0, kSteps);
  return small_psnr(trainer.averaged());
}

/// Returns a model without the entries of which no number reaches 0.001, and how many these are.
std::pair<Model, double> without_small(Model model) {
  Array<float>& table = model.parameters[size_t(Part::table)];
  const int64_t features = model.config.features, entries = table.size() / features;
  int64_t removed = 0;
  for (int64_t e = 0; e < entries; ++e) {
    float most = 0;
    for (int64_t f = 0; f < features; ++f) most = std::max(most, std::abs(table[e * features + f]));
    if (most >= 1e-3F) continue;
    ++removed;
    for (int64_t f = 0; f < features; ++f) table[e * features + f] = 0;
  }
  return {std::move(model), double(removed) / double(entries)};
}

Outcome run(uint64_t seed) {
  const OneThread one;
  Outcome out;
  out.heads = {"training", "PSNR"};
  out.x = "share of the run";
  out.y = "PSNR, dB";
  const Config plain = small_hash_config();
  Trainer base(small_built_in_scene(), plain, small_hash_plan(plain), seed);
  train_steps(base, 0, kSteps);
  const double whole = small_psnr(base.averaged());
  out.rows.push_back({"all at once", db_text(whole)});
  std::vector<ClaimRow> pictures, levels;
  Curve of_pictures{"small pictures first", {}}, of_levels{"levels in turn", {}};
  std::string text = fmt::format("{} with large pictures alone", db_text(whole)), turns = text;
  turns = fmt::format("{} with all levels at once", db_text(whole));
  for (const double share : {0.2, 0.4}) {
    const double psnr = small_first(share, seed);
    pictures.push_back({fmt::format("small for {:.0f} %", 100 * share), {psnr - whole}});
    text += fmt::format(", {} with small ones for {:.0f} % of the steps", db_text(psnr), 100 * share);
    of_pictures.points.emplace_back(share, psnr);
    out.rows.push_back({pictures.back().condition, db_text(psnr)});

    Config c = plain;
    c.open_until = share;
    Trainer trainer(small_built_in_scene(), c, small_hash_plan(c), seed);
    train_steps(trainer, 0, kSteps);
    const double opened = small_psnr(trainer.averaged());
    levels.push_back({fmt::format("until {:.0f} % of the run", 100 * share), {opened - whole}});
    turns += fmt::format(", {} where the last begins after {:.0f} %", db_text(opened), 100 * share);
    of_levels.points.emplace_back(share, opened);
    out.rows.push_back({"levels in turn, " + levels.back().condition, db_text(opened)});
  }
  out.curves = {of_pictures, of_levels};
  const auto [fewer, removed] = without_small(base.averaged());
  const double left = small_psnr(fewer);
  out.rows.push_back({fmt::format("without {} of the entries", percent_text(removed)), db_text(left)});
  out.decided = {decide(kPictures, pictures, text), decide(kLevels, levels, turns),
                 decide(kSmall, whole - left,
                        fmt::format("{} of the entries are below 0.001; {} with them, {} without",
                                    percent_text(removed), db_text(whole), db_text(left)))};
  const double coarse = grown_by("coarse", seed), gradient = grown_by("gradient", seed);
  out.rows.push_back({"adaptive, coarse levels grow first", db_text(coarse)});
  out.rows.push_back({"adaptive, levels with large gradients grow first", db_text(gradient)});
  out.decided.push_back(
      decide(kGradients, gradient - coarse,
             fmt::format("{} where levels with large gradients grow first, {} where coarse ones do",
                         db_text(gradient), db_text(coarse))));
  return out;
}

const ExperimentRegistrar registrar({"progressive",
                                     "coarse things first: small pictures, levels in turn, small entries",
                                     run,
                                     nullptr,
                                     {kPictures, kLevels, kSmall, kGradients}});

}  // namespace
}  // namespace klab::learning::progressive_claim
