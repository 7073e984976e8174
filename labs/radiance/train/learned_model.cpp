#include "labs/radiance/train/learned_model.h"

#include <algorithm>
#include <cmath>

namespace klab {
namespace {

const char* tensor_name(Part part) {
  return part == Part::table ? "hash_table" : part == Part::density ? "density" : "color";
}

}  // namespace

LearnedModel::LearnedModel(const Config& config, const Placement& placement) : model_(config, placement) {}

void LearnedModel::allocate_moments() {
  for (const Part part : kParts) {
    const int64_t n = model_.of(part).size();
    moments_[size_t(part)] = OptimizerState(n, part == Part::table ? model_.config.features : n);
    if (averages()) averages_[size_t(part)] = Array<float>(n);
  }
}

void LearnedModel::tie(Memory& memory, const TrainStep& step) {
  for (const Part part : kParts) {
    const auto p = size_t(part);
    memory.mirror(step.parameters[p], model_.parameters[p].data());
    memory.mirror(step.gradient[p], moments_[p].gradient.data());
    memory.mirror(step.m[p], moments_[p].m.data());
    memory.mirror(step.v[p], moments_[p].v.data());
    memory.mirror(step.steps[p], moments_[p].steps.data());
    if (averages()) memory.mirror(step.average[p], averages_[p].data());
  }
  if (step.level_sizes.exists()) {
    memory.mirror(step.scales, model_.scales.data());
    memory.mirror(step.level_sizes, model_.sizes.data());
  }
}

std::vector<LearnedArray> LearnedModel::arrays(const TrainStep& step) const {
  std::vector<LearnedArray> list;
  for (const Part part : kParts) {
    const auto p = size_t(part);
    const Array<float>&g = moments_[p].gradient, &values = model_.of(part);
    list.push_back({.gradient = step.gradient[p],
                    .parameters = step.parameters[p],
                    .host_gradient = {g.data(), size_t(g.size())},
                    .host_parameters = {values.data(), size_t(values.size())},
                    .group = part == Part::table ? model_.config.features : 0});
  }
  return list;
}

void LearnedModel::collect(const SharedBatch& shared) const {
  const OptimizerState& m = moments_[size_t(Part::table)];
  const auto all = [](const auto& array) { return std::span(array.data(), size_t(array.size())); };
  shared.collect(0, all(m.m), 1, false);
  shared.collect(0, all(m.v), 1, false);
  shared.collect(0, all(m.steps), model_.config.features, false);
  if (averages()) shared.collect(0, all(averages_[size_t(Part::table)]), 1, true);
}

void LearnedModel::clear_gradients() {
  for (OptimizerState& m : moments_) std::fill(m.gradient.begin(), m.gradient.end(), 0.0F);
}

void LearnedModel::measure_gradient(StepReport& report) const {
  const double clip = model_.config.clip_norm;
  double before = 0, after = 0;
  for (const Part part : kParts) {
    const Array<float>& g = moments_[size_t(part)].gradient;
    const double squares = squares_of({g.data(), size_t(g.size())});
    const bool clipped = clip > 0 && part != Part::table;
    before += squares;
    after += clipped ? std::min(squares, clip * clip) : squares;
  }
  report.gradient_norm = std::sqrt(before);
  report.clipped_norm = std::sqrt(after);
  for (const Part part : {Part::density, Part::color}) {  // Adam adds l2·w to the gradient of these
    const Array<float>& w = model_.of(part);
    if (model_.config.weight_decay > 0)
      report.decay += 0.5 * model_.config.weight_decay * squares_of({w.data(), size_t(w.size())});
  }
}

void LearnedModel::take_parameters(const Model& from) {
  for (const Part part : kParts) std::ranges::copy(from.of(part), model_.parameters[size_t(part)].begin());
}

void LearnedModel::keep_zeros_of(const Model& other) {
  for (const Part part : kParts) {
    const Array<float>& kept = other.of(part);
    Array<float>& own = model_.parameters[size_t(part)];
    for (int64_t i = 0; i < own.size(); ++i)
      if (kept[i] == 0) own[i] = 0;
  }
}

void LearnedModel::move(Part part, const std::vector<float>& direction, double times) {
  Array<float>& parameters = model_.parameters[size_t(part)];
  for (int64_t i = 0; i < parameters.size(); ++i)
    parameters[i] = float(double(parameters[i]) + times * double(direction[size_t(i)]));
}

Model LearnedModel::averaged() const {
  Model copy(model_.config, model_.placement);
  std::copy(model_.occupancy.begin(), model_.occupancy.end(), copy.occupancy.begin());
  copy.sizes = model_.sizes;
  const bool use = averages() && averaged_weight_ > 0;
  const float scale = use ? float(1 / averaged_weight_) : 1.0F;
  for (const Part part : kParts) {
    const Array<float>& from = use ? averages_[size_t(part)] : model_.of(part);
    for (int64_t i = 0; i < from.size(); ++i) copy.of(part)[i] = scale * from[i];
  }
  return copy;
}

TableEntries LearnedModel::table_entries() {
  constexpr auto kTable = size_t(Part::table);
  OptimizerState& moments = moments_[kTable];
  TableEntries entries = {.values = {model_.parameters[kTable].data(), moments.m.data(), moments.v.data()},
                          .counts = {moments.steps.data()},
                          .squares = moments.v.data(),
                          .features = model_.config.features};
  if (averages()) entries.values.push_back(averages_[kTable].data());
  return entries;
}

std::vector<LevelUse> LearnedModel::level_uses(const std::vector<float>& positions) const {
  constexpr int64_t kEvaluated = 8192;  // samples: enough to tell levels apart, and quickly sorted
  const Config& c = model_.config;
  const auto samples = int64_t(positions.size() / 3);
  const Array<float>& d_table = moments_[size_t(Part::table)].gradient;
  const Array<int32_t>& steps = moments_[size_t(Part::table)].steps;
  std::vector<LevelUse> uses;
  for (const TableLevel& level : table_levels(c.levels, model_.scales.data(), model_.sizes.data())) {
    LevelUse use = level_use(level, hash_kind(c.hash), blend_kind(c.interpolation), positions.data(), samples,
                             std::min<int64_t>(samples, kEvaluated));
    const int64_t end = level.offset + int64_t(level.entries);
    for (int64_t e = level.offset; e < end; ++e) use.moved += steps[e] > 0;
    use.moved /= double(level.entries);
    double square = 0;
    for (int64_t k = level.offset * c.features; k < end * c.features; ++k)
      square += double(d_table[k]) * double(d_table[k]);
    use.gradient = std::sqrt(square);
    uses.push_back(use);
  }
  return uses;
}

std::vector<TensorView> LearnedModel::state() const {
  std::vector<TensorView> list = model_.tensors();
  for (const Part part : kParts) {
    for (const TensorView& t : moment_tensors(tensor_name(part), moments_[size_t(part)])) list.push_back(t);
    const Array<float>& average = averages_[size_t(part)];
    if (averages())
      list.push_back({std::string("optimizer.") + tensor_name(part) + ".average",
                      "F32",
                      {average.size()},
                      average.data()});
  }
  return list;
}

void LearnedModel::restore(int64_t step, double averaged_weight, const std::string& where) {
  for (const OptimizerState& m : moments_) m.require_plausible(step, where);
  model_.require_plausible_sizes(where);
  averaged_weight_ = averaged_weight;
}

}  // namespace klab
