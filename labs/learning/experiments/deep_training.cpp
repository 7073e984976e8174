// Experiment deep_training: 50 layers of 100 units that learn, or do not, by the variance that their weights begin with. Experiment
// initialization shows the sizes of activations and gradients in the same networks before the first step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"

namespace klab::learning::deep_training_experiment {
namespace {

constexpr int kLayers = 50, kSeeds = 5;
constexpr int64_t kWidth = 100, kBatch = 32, kSteps = 800;
constexpr double kRate = 1e-2;

const Claim kOne{.id = "deep_training.one",
                 .said = "50 ReLU layers of 100 units, trained: with 1/n there is no progress",
                 .source = "course",
                 .metric = "share of ten classes right after 800 steps",
                 .rule = at_most(0.2)};
const Claim kTwo{.id = "deep_training.two",
                 .said = "50 ReLU layers of 100 units, trained: with 2/n they learn",
                 .source = "course",
                 .metric = "share of ten classes right after 800 steps",
                 .rule = at_least(0.3)};
const Claim kThree{.id = "deep_training.three",
                   .said = "50 ReLU layers of 100 units, trained: with 3/n the loss is soon not a number",
                   .source = "course",
                   .metric = "share of 800 steps with a finite loss",
                   .rule = at_most(0.5)};

std::unique_ptr<Network> deep() {
  auto net = std::make_unique<Network>(Dims{1, 28, 28});
  for (int i = 0; i < kLayers; ++i)
    net->add<Linear>(fmt::format("linear{}", i + 1), kWidth)
        .add<Activation>(fmt::format("relu{}", i + 1), activation::relu);
  net->add<Linear>("output", int64_t{10});
  return net;
}

struct Training {
  std::vector<double> losses;  // up to the first that is not finite
  double right = 0;
  double finite() const { return double(losses.size()) / double(kSteps); }
};

Training train(double times, uint64_t seed) {
  const Examples examples = make_glyphs(2000, seed), test = make_glyphs(512, seed + 1);
  Learner learner(deep(), examples, kBatch, {.name = "sgd", .rate = kRate, .decay = 0}, seed);
  learner.draw(times, seed);
  Training t;
  for (int64_t i = 0; i < kSteps; ++i) {
    const double loss = learner.step();
    if (!std::isfinite(loss)) break;  // and so are all that follow
    t.losses.push_back(loss);
  }
  t.right = learner.accuracy(test);
  return t;
}

/// Losses of 3/n rise by many powers of ten before they overflow; next to them those of 1/n and 2/n would look alike.
constexpr double kHighest = 10;
constexpr size_t kDrawn = 10;  // steps to a point

std::vector<std::pair<double, double>> drawn(const std::vector<double>& losses) {
  std::vector<std::pair<double, double>> points;
  for (size_t i = 0; i < losses.size(); i += kDrawn) {
    const size_t end = std::min(i + kDrawn, losses.size());
    double sum = 0;
    for (size_t k = i; k < end; ++k) sum += std::min(losses[k], kHighest);
    points.emplace_back(end, sum / double(end - i));
  }
  return points;
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"variance", "seed", "first loss", "last finite loss", "finite", "right"},
              .x = "step",
              .y = fmt::format("loss, mean of {} steps, at most {}", kDrawn, kHighest)};
  std::vector<double> right[4], finite[4];
  for (int times = 1; times <= 3; ++times)
    for (uint64_t s = 0; s < kSeeds; ++s) {
      const Training t = train(times, seed + s);
      right[times].push_back(t.right);
      finite[times].push_back(t.finite());
      const bool any = !t.losses.empty();
      out.rows.push_back({fmt::format("{}/n", times), std::to_string(seed + s),
                          any ? fmt::format("{:.3g}", t.losses.front()) : "none",
                          any ? fmt::format("{:.3g}", t.losses.back()) : "none", percent_text(t.finite()),
                          percent_text(t.right)});
      if (s > 0) continue;
      if (any) out.curves.push_back({fmt::format("{}/n", times), drawn(t.losses)});
    }
  const auto shares = [&](const std::vector<double>& list) {
    const auto [low, high] = std::ranges::minmax(list);
    return fmt::format("{} to {}", percent_text(low), percent_text(high));
  };
  const auto text = [&](int times) {
    return fmt::format(
        "over {} seeds {} are right after {} steps at a rate of {}, and {} of the losses are finite", kSeeds,
        shares(right[times]), kSteps, kRate, shares(finite[times]));
  };
  out.decided = {decide(kOne, {{"", right[1]}}, text(1)), decide(kTwo, {{"", right[2]}}, text(2)),
                 decide(kThree, {{"", finite[3]}}, text(3))};
  return out;
}

const ExperimentRegistrar registrar(
    {"deep_training",
     "50 layers of 100 units trained from weights of variance 1/n, 2/n and 3/n",
     run,
     nullptr,
     {kOne, kTwo, kThree},
     kSeeds});

}  // namespace
}  // namespace klab::learning::deep_training_experiment
