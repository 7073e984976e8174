#include "labs/learning/experiments/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "harness/check/check.h"
#include "harness/core/registry.h"
#include "harness/core/select.h"
#include "harness/timing/statistics.h"
#include "labs/learning/network/initialize.h"

namespace klab::learning {
namespace {

std::vector<Experiment>& storage() {
  static std::vector<Experiment> list;
  return list;
}

std::vector<Claim>& gpu_storage() {
  static std::vector<Claim> list;
  return list;
}

}  // namespace

const char* name_of(Finding finding) {
  return finding == Finding::held ? "held" : finding == Finding::refuted ? "refuted" : "depends";
}

const std::vector<Experiment>& experiments() { return storage(); }

std::vector<const Experiment*> experiments_named(const std::vector<std::string>& names) {
  std::vector<const Experiment*> list;
  std::vector<std::string> known;
  for (const Experiment& e : experiments()) {
    known.push_back(e.name);
    if (names.empty() || std::ranges::find(names, e.name) != names.end()) list.push_back(&e);
  }
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      throw NotFound(
          fmt::format("{}; there are {}", not_found_text("experiment", name, known), experiment_names()));
  return list;
}

std::string experiment_names() {
  std::string text;
  for (const Experiment& e : experiments()) text += (text.empty() ? "" : ", ") + e.name;
  return text;
}

ExperimentRegistrar::ExperimentRegistrar(Experiment experiment) {
  auto& list = storage();
  list.insert(std::ranges::upper_bound(list, experiment.name, {}, &Experiment::name), std::move(experiment));
}

std::vector<Claim> all_claims() {
  std::vector<Claim> all = gpu_storage();
  for (const Experiment& e : experiments()) all.insert(all.end(), e.claims.begin(), e.claims.end());
  std::ranges::sort(all, {}, &Claim::id);
  return all;
}

const Experiment* experiment_of(const Claim& claim) {
  if (claim.kind == ClaimKind::gpu) return nullptr;
  const auto at = std::ranges::find(experiments(), claim.experiment(), &Experiment::name);
  return at == experiments().end() ? nullptr : &*at;
}

GpuClaimRegistrar::GpuClaimRegistrar(std::vector<Claim> claims) {
  for (Claim& c : claims) gpu_storage().push_back(std::move(c));
}

Decided decide(const Claim& claim, std::vector<ClaimRow> rows, std::string because) {
  Measured m{claim.metric, std::numeric_limits<double>::infinity(), 0,
             -std::numeric_limits<double>::infinity()};
  std::vector<double> all;
  for (const ClaimRow& row : rows)
    for (const double v : row.values) {
      if (!std::isfinite(v)) throw std::logic_error(claim.id + ": a value is not finite");
      m.low = std::min(m.low, v), m.high = std::max(m.high, v);
      all.push_back(v);
    }
  for (const ClaimRow& row : rows)
    if (row.condition.empty() != (rows.size() == 1) || claim.on.empty() != (rows.size() == 1))
      throw std::logic_error(claim.id + ": several rows need conditions, and what these vary");
  const ClaimVerdict verdict = verdict_of(claim.rule, rows);
  m.value = median(all);
  return {.said = claim.said,
          .finding = verdict == ClaimVerdict::held      ? Finding::held
                     : verdict == ClaimVerdict::refuted ? Finding::refuted
                                                        : Finding::depends,
          .because = std::move(because),
          .source = claim.source,
          .measured = m,
          .id = claim.id,
          .rows = std::move(rows)};
}

Decided decide(const Claim& claim, double value, std::string because) {
  return decide(claim, {{"", {value}}}, std::move(because));
}

Plan untimed_plan(const std::vector<PlannedCall>& calls) {
  CallTimes none(std::vector<CallTime>{});
  return Plan::named("last", calls, none);
}

Learner::Learner(std::unique_ptr<Network> network, const Examples& examples, int64_t batch,
                 const OptimizerSettings& settings, uint64_t seed)
    : network_([&] {
        network->build(batch, seed);
        return std::move(network);
      }()),
      examples_(examples),
      program_(*network_, {.optimizer = settings}),
      ops_(program_.memory()),
      scale_(scale_of(examples)),
      loader_(examples, {.batch = batch, .seed = seed}, scale_.mean, scale_.deviation),
      plan_(untimed_plan(program_.calls())),
      seed_(seed) {}

void Learner::draw(double times, uint64_t seed) {
  for (const Tensor& t : network_->parameters().tensors())
    if (t.decays)
      draw_normal(t, times / double(t.name.starts_with("conv") ? t.size() / t.dims[0] : t.dims[0]), seed);
}

double Learner::find_gradient() {
  const Batch& batch = loader_.at(step_);
  program_.write(batch.values.data(), batch.labels.data(), seed_, uint64_t(step_));
  run("gradient", [&](Ops& ops) { program_.loss_and_gradient(ops); });
  return program_.mean_loss();
}

double Learner::step(const std::string& only) {
  const double loss = find_gradient();
  for (const Tensor& t : network_->parameters().tensors())
    if (!t.name.starts_with(only)) std::fill_n(t.gradient, t.size(), 0.0F);
  program_.write_rate(1);
  run("update", [&](Ops& ops) { program_.update(ops); });
  ++step_;
  return loss;
}

double Learner::train(int64_t steps, const std::string& only) {
  double sum = 0;
  const int64_t last = std::max<int64_t>(1, steps / 10);
  for (int64_t i = 0; i < steps; ++i) {
    const double loss = step(only);
    if (i >= steps - last) sum += loss;
  }
  return sum / double(last);
}

double Learner::accuracy(const Examples& e, bool training) {
  const int64_t n = network_->batch(), size = volume(e.dims), classes = e.classes;
  Array<float> values(n * size);
  int64_t right = 0, all = 0;
  for (int64_t begin = 0; begin + n <= e.count(); begin += n) {
    for (int64_t i = 0; i < n * size; ++i)
      values[i] = (e.values[size_t(begin * size + i)] - float(scale_.mean)) / float(scale_.deviation);
    network_->write(values.data(), seed_, uint64_t(step_));
    run(training ? "training" : "evaluation", [&](Ops& ops) { program_.forward(ops, training); });
    const std::vector<float> logits = network_->outputs();
    for (int64_t i = 0; i < n; ++i) {
      const float* row = logits.data() + i * classes;
      right += std::max_element(row, row + classes) - row == e.labels[size_t(begin + i)];
      ++all;
    }
  }
  return double(right) / double(std::max<int64_t>(1, all));
}

double rms(const float* values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += double(values[i]) * double(values[i]);
  return std::sqrt(sum / double(std::max<int64_t>(1, count)));
}

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace klab::learning
