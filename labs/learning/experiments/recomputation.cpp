// Memory against time: batches in parts whose gradients are summed, and activations that are recomputed
// instead of kept; for a classifier and for a radiance field.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>

#include "labs/learning/data/dataset.h"
#include "labs/learning/experiments/experiment.h"
#include "labs/learning/experiments/small_field.h"
#include "labs/learning/train/trainer.h"

namespace klab::learning::recomputation_experiment {
namespace {

const Claim kEighth{.id = "recomputation.parts",
                    .said = "accumulating over eight parts takes an eighth of the memory of activations",
                    .source = "plan",
                    .metric = "memory of one part over that of eight",
                    .rule = at_least(7),
                    .kind = ClaimKind::exact,
                    .on = "the network"};
const Claim kHalf{.id = "recomputation.memory",
                  .said = "recomputation halves the memory of activations",
                  .source = "paper",
                  .metric = "memory without it over that with it",
                  .rule = at_least(2),
                  .kind = ClaimKind::exact,
                  .on = "the network"};
const Claim kThird{.id = "recomputation.time",
                   .said = "recomputation takes a third more time",
                   .source = "paper",
                   .metric = "time of a step with it over that without",
                   .rule = at_most(1.4),
                   .kind = ClaimKind::timed,
                   .on = "the network"};
const Claim kSame{.id = "recomputation.gradient",
                  .said = "what is computed again gives the gradient that would have been had",
                  .source = "paper",
                  .metric = "largest distance of the gradients, relative",
                  .rule = at_most(0)};

constexpr int kTimed = 12, kWarm = 3;

/// A way to take a step: its memory, the gradient of its first step, and the seconds of each round.
struct Need {
  std::string name;
  double megabytes = 0;
  std::vector<float> gradient = {};
  std::function<void()> step = {};
  std::vector<double> seconds = {};
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

/// Returns the ratio of two times: the median over rounds, within which the machine affects both alike.
double times_as_long(const Need& a, const Need& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.seconds.size(); ++i) ratios.push_back(a.seconds[i] / b.seconds[i]);
  return median(ratios);
}

/// Times all ways interleaved, one step each, round by round.
void time_in_turn(const std::vector<Need*>& ways) {
  for (int round = 0; round < kWarm + kTimed; ++round)
    for (Need* way : ways) {
      const auto begin = std::chrono::steady_clock::now();
      way->step();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      if (round >= kWarm) way->seconds.push_back(taken.count());
    }
}

/// Returns the distance of two gradients relative to the size of the second; 0 if all bits are equal.
double apart(const Need& a, const Need& b) {
  if (a.gradient.size() != b.gradient.size()) return INFINITY;
  double difference = 0, size = 0;
  for (size_t i = 0; i < b.gradient.size(); ++i) {
    difference += std::pow(double(a.gradient[i]) - double(b.gradient[i]), 2);
    size += std::pow(double(b.gradient[i]), 2);
  }
  return size > 0 ? std::sqrt(difference / size) : INFINITY;
}

std::string apart_text(const Need& a, const Need& b) {
  if (&a == &b) return "-";
  const double by = apart(a, b);
  return by == 0 ? "the same bits" : fmt::format("{:.1e} apart", by);
}

Need classifier(const Dataset& data, int64_t parts, int64_t keep, uint64_t seed) {
  TrainerSettings s;
  s.model = "cnn";
  s.loader.batch = 256;
  s.loader.prefetch = false;
  s.accumulate = parts;
  s.recompute = keep;
  s.seed = s.loader.seed = seed;
  const auto trainer = std::make_shared<klab::learning::Trainer>(data, s);
  trainer->use(untimed_plan(trainer->calls()));
  trainer->step();
  std::vector<float> gradient;
  for (const bool decays : {false, true}) {
    const Parameters::Group& g = trainer->network().parameters().group(decays);
    gradient.insert(gradient.end(), g.gradients.begin(), g.gradients.end());
  }
  return {.name = fmt::format("classifier, {} part{}{}", parts, parts == 1 ? "" : "s",
                              keep > 1 ? fmt::format(", one output in {} kept", keep) : ""),
          .megabytes = double(trainer->network().activation_bytes()) * 1e-6,
          .gradient = std::move(gradient),
          .step = [trainer] { trainer->step(); }};
}

/// Keeps the scene alive as long as the trainer that uses it.
struct FieldAndTrainer {
  SmallField field;
  std::unique_ptr<klab::Trainer> trainer;
};

Need field(int64_t parts, bool recompute, uint64_t seed) {
  const auto both = std::make_shared<FieldAndTrainer>(FieldAndTrainer{SmallField(seed), nullptr});
  SmallField& f = both->field;
  f.config.batch_samples = 1 << 14;
  f.config.first_rays = 1024;
  StepSizes sizes;
  sizes.recompute = recompute;
  const Plan plan = untimed_plan(training_calls(f.config, f.scene.cascades));
  const auto make = [&] {
    return std::make_unique<klab::Trainer>(
        f.scene, f.config, plan, seed, cpu_backend(), sizes, nullptr,
        BatchShare{.parts = parts, .first = 0, .own = parts, .sum = {}, .complete = {}, .collect = {}});
  };
  // Memory of the batch alone: a batch of one sample needs table, optimizer and grid.
  Config part = f.config, least = f.config;
  part.batch_samples /= parts;
  part.first_rays /= parts;
  least.batch_samples = least.first_rays = 1;
  const int64_t bytes =
      klab::Trainer::bytes_of(f.scene, part, sizes) - klab::Trainer::bytes_of(f.scene, least, sizes);
  // Taken from a second, identical trainer: a step accumulates its gradient and then clears it.
  std::vector<float> gradient;
  const auto first = make();
  first->shared_loss_and_gradient();
  for (const Part k : kParts)
    gradient.insert(gradient.end(), first->gradient(k).begin(), first->gradient(k).end());
  both->trainer = make();
  return {.name = fmt::format("field, {} part{}{}", parts, parts == 1 ? "" : "s",
                              recompute ? ", features looked up again" : ""),
          .megabytes = double(bytes) * 1e-6,
          .gradient = std::move(gradient),
          .step = [both] { both->trainer->step(0); }};
}

Curve curve_of(const std::string& name, const std::vector<Need>& needs) {
  Curve curve{name, {}};
  for (const Need& n : needs) curve.points.emplace_back(n.megabytes, 1e3 * median(n.seconds));
  std::ranges::sort(curve.points);
  return curve;
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"step", "activations, MB", "ms a step", "first gradient"},
              .x = "MB of a batch's activations and their gradients",
              .y = "ms a step",
              .log_x = true};
  const Dataset data = load_dataset("glyphs", seed, 1024, 16);
  std::vector<Need> parts, kept, field_parts, field_again;
  for (const int64_t n : {1, 2, 4, 8}) parts.push_back(classifier(data, n, 1, seed));
  for (const int64_t keep : {2, 3, 4}) kept.push_back(classifier(data, 1, keep, seed));
  for (const int64_t n : {1, 2, 4, 8}) field_parts.push_back(field(n, false, seed));
  for (const int64_t n : {1, 4}) field_again.push_back(field(n, true, seed));
  std::vector<Need*> all;
  for (auto* needs : {&parts, &kept, &field_parts, &field_again})
    for (Need& n : *needs) all.push_back(&n);
  time_in_turn(all);
  const auto row = [&](const Need& n, const std::string& gradient) {
    out.rows.push_back({n.name, fmt::format("{:.2f}", n.megabytes),
                        fmt::format("{:.2f}", 1e3 * median(n.seconds)), gradient});
  };
  double most_apart = 0;
  for (const Need& n : parts) row(n, apart_text(n, parts[0]));
  for (const Need& n : kept) row(n, apart_text(n, parts[0]));
  for (const Need& n : field_parts) row(n, &n == &field_parts[0] ? "-" : "of other rays");
  const std::array of_field = {&field_parts[0], &field_parts[2]};  // one part and four
  for (size_t i = 0; i < field_again.size(); ++i)
    row(field_again[i], apart_text(field_again[i], *of_field[i]));
  for (const Need& n : kept) most_apart = std::max(most_apart, apart(n, parts[0]));
  for (size_t i = 0; i < field_again.size(); ++i)
    most_apart = std::max(most_apart, apart(field_again[i], *of_field[i]));
  const auto best = std::ranges::min_element(kept, {}, &Need::megabytes);
  const double less = parts[0].megabytes / best->megabytes, longer = times_as_long(*best, parts[0]);
  const double by_parts = parts[0].megabytes / parts.back().megabytes,
               longer_by_parts = times_as_long(parts.back(), parts[0]);
  const double field_by_parts = field_parts[0].megabytes / field_parts.back().megabytes;
  const double field_less = field_parts[0].megabytes / field_again[0].megabytes,
               field_longer = times_as_long(field_again[0], field_parts[0]);
  out.decided = {
      decide(kEighth, {{"the classifier", {by_parts}}, {"the field", {field_by_parts}}},
             fmt::format("{:.1f} times less for the classifier, {:.1f} times less for the field", by_parts,
                         field_by_parts)),
      decide(
          kHalf, {{"the classifier", {less}}, {"the field", {field_less}}},
          fmt::format("the classifier's at best {:.2f} times less: its outputs shrink from layer to layer, "
                      "so that what is kept and what a segment needs are as large as the first ones; the "
                      "field's {:.2f} times less, as only features are looked up again",
                      less, field_less)),
      decide(kThird, {{"the classifier", {longer}}, {"the field", {field_longer}}},
             fmt::format("{:.2f} times the time of the classifier, {:.2f} times that of the field; eight "
                         "parts take {:.2f} times the time of one",
                         longer, field_longer, longer_by_parts)),
      decide(
          kSame, most_apart,
          fmt::format("gradients of the classifier and of the field are {:.0e} apart; a batch in parts is "
                      "another matter: batch normalization and dropout see a part at a time, and each part "
                      "of a field's batch draws rays of its own",
                      most_apart))};
  out.curves = {curve_of("classifier, in parts", parts), curve_of("classifier, outputs computed again", kept),
                curve_of("field, in parts", field_parts),
                curve_of("field, features looked up again", field_again)};
  return out;
}

const ExperimentRegistrar registrar(
    {"recomputation",
     "Memory of a batch against the time of a step: parts of it, and what is computed again",
     run,
     nullptr,
     {kEighth, kHalf, kThird, kSame}});

}  // namespace
}  // namespace klab::learning::recomputation_experiment
