// The trainer's hash table: its adaptive size, and statistics of its levels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "labs/radiance/train/trainer.h"

namespace klab {

TableEntries Trainer::table_entries() {
  constexpr auto kTable = size_t(Part::table);
  OptimizerState& moments = moments_[kTable];
  TableEntries entries = {.values = {model_.of(Part::table).data(), moments.m.data(), moments.v.data()},
                          .counts = {moments.steps.data()},
                          .features = config_.features};
  if (config_.ema > 0) entries.values.push_back(averages_[kTable].data());
  return entries;
}

// While all cells of the grid are updated, samples are everywhere and do not show the content of the scene.
void Trainer::adapt_table() {
  if (!adaptive_ || step_ % config_.table_every != 0) return;
  memory_->pull();
  const TableEntries entries = table_entries();
  if (step_ <= config_.grid_warmup) {
    adaptive_->note(entries, step_, model_.sizes);
    return;
  }
  TableChange change;
  profile_.time("adaptive table", [&] { change = adaptive_->adapt(entries, step_, model_.sizes); });
  changes_.grown += change.grown;
  changes_.shrunk += change.shrunk;
  changes_.recycled += change.recycled;
  if (change.grown + change.shrunk + change.recycled > 0) memory_->push();
}

std::string Trainer::table_news() {
  if (changes_.grown + changes_.shrunk + changes_.recycled == 0) return "";
  const TableChange c = changes_;
  changes_ = {};
  return fmt::format(
      "{} entries in use of room for {}: {} times a level grew, {} times one shrank, {} entries were reset",
      model_.entries_in_use(), model_.table_entries(), c.grown, c.shrunk, c.recycled);
}

// Computes the next step's loss and leaves its gradient; returns the positions of its samples.
std::vector<float> Trainer::evaluate_batch() {
  StepNumbers n = numbers();
  Profile aside;
  memory_->write(programs_->numbers, &n, sizeof n);
  memory_->set(programs_->rays, n.rays);
  draw_pixels();
  run_loss(aside);
  drawn_ = n.rays;
  memory_->read(&n, programs_->numbers, sizeof n);
  whole_ = n.whole;
  colored_ = !plan_.contains("composite_loss_bwd") || !TrainStep::fusable(config_);
  int32_t samples = 0;
  memory_->read(&samples, programs_->begin.from(drawn_), sizeof samples);
  std::vector<float> positions(size_t(3 * samples));
  // Where ops are called with capacities, rows have their length.
  const int64_t row = programs_->samples.now();
  for (int64_t axis = 0; axis < 3; ++axis)
    memory_->read(positions.data() + axis * samples, programs_->positions.from(axis * row),
                  size_t(samples) * sizeof(float));
  return positions;
}

void Trainer::clear_gradients() {
  for (const OptimizerState& m : moments_) std::fill(m.gradient.begin(), m.gradient.end(), 0.0F);
  memory_->push();
}

std::vector<float> Trainer::batch_positions() {
  memory_->pull();
  std::vector<float> positions = evaluate_batch();
  clear_gradients();
  return positions;
}

std::vector<LevelUse> Trainer::level_uses() {
  constexpr int64_t kLooked = 8192;  // samples: enough to tell levels apart, and quickly sorted
  if (share_.parts > 1) return {};
  memory_->pull();
  const std::vector<float> positions = evaluate_batch();
  const auto samples = int64_t(positions.size() / 3);
  const Array<float>& d_table = gradient(Part::table);
  const Array<int32_t>& steps = moments_[size_t(Part::table)].steps;
  std::vector<LevelUse> uses;
  for (const TableLevel& level : table_levels(config_.levels, model_.scales.data(), model_.sizes.data())) {
    LevelUse use = level_use(level, hash_kind(config_.hash), blend_kind(config_.interpolation),
                             positions.data(), samples, std::min<int64_t>(samples, kLooked));
    const int64_t end = level.offset + int64_t(level.entries);
    for (int64_t e = level.offset; e < end; ++e) use.moved += steps[e] > 0;
    use.moved /= double(level.entries);
    double square = 0;
    for (int64_t k = level.offset * config_.features; k < end * config_.features; ++k)
      square += double(d_table[k]) * double(d_table[k]);
    use.gradient = std::sqrt(square);
    uses.push_back(use);
  }
  clear_gradients();
  return uses;
}

}  // namespace klab
