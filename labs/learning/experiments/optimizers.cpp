// Compares the optimizers on a network that classifies pictures, each at the best of three rates, over five seeds.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/models.h"

namespace klab::learning::optimizers_experiment {
namespace {

const Claim kSlowStart{
    .id = "optimizers.slow_start",
    .said = "momentum starts slower than gradient descent, each at the best of three rates",
    .source = "course",
    .metric = "early loss of momentum over that of sgd",
    .rule = at_least(1)};
const Claim kMomentum{.id = "optimizers.momentum",
                      .said = "momentum reaches a lower loss than gradient descent in the same steps",
                      .source = "course",
                      .metric = "final loss of sgd over that of momentum",
                      .rule = at_least(1)};
const Claim kNesterov{.id = "optimizers.nesterov",
                      .said = "Nesterov's momentum reaches a lower loss than plain momentum",
                      .source = "course",
                      .metric = "final loss of momentum over that of nesterov",
                      .rule = at_least(1)};
const Claim kAdam{.id = "optimizers.adam",
                  .said = "Adam reaches a lower loss than momentum, each at the best of three rates",
                  .source = "course",
                  .metric = "final loss of momentum over that of adam",
                  .rule = at_least(1)};

constexpr const char* kNetwork = "conv 6 5 stride 2, pool, 32, 10";
constexpr int64_t kBatch = 32, kSteps = 150, kEarly = 20;
constexpr size_t kSeeds = 5;

/// One training: the loss of each step, and the share of test pictures that it is right about.
struct Training {
  std::vector<double> losses;
  double right = 0;
  /// Returns the mean loss of the steps from `begin` to before `end`, or infinity if a loss was not finite.
  double mean(int64_t begin, int64_t end) const {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += losses[size_t(i)];
    return std::isfinite(sum) ? sum / double(end - begin) : std::numeric_limits<double>::infinity();
  }
  double early() const { return mean(kEarly - 10, kEarly); }
  double final() const { return mean(kSteps - kSteps / 10, kSteps); }
};

struct Data {
  Examples train, test;
};

Training train(const std::string& line, const Data& data, const std::string& optimizer, double rate,
               uint64_t seed) {
  Learner learner(make_model(line, data.train.dims, data.train.classes), data.train, kBatch,
                  {.name = optimizer, .rate = rate}, seed);
  Training t;
  for (int64_t i = 0; i < kSteps; ++i) t.losses.push_back(learner.step());
  t.right = learner.accuracy(data.test);
  return t;
}

/// An optimizer at the one of three rates whose final loss is lowest with the first seed.
struct Contender {
  std::string name;
  double rate = 0;
  std::vector<Training> trainings;  // by seed
};

Contender at_best_rate(const std::string& line, const Data& data, const std::string& optimizer,
                       const std::vector<double>& rates, uint64_t seed) {
  Contender best{optimizer, 0, {}};
  for (const double rate : rates) {
    Training t = train(line, data, optimizer, rate, seed);
    if (!best.trainings.empty() && !(t.final() < best.trainings.front().final())) continue;
    best.rate = rate;
    best.trainings = {std::move(t)};
  }
  for (uint64_t s = 1; s < kSeeds; ++s)
    best.trainings.push_back(train(line, data, optimizer, best.rate, seed + s));
  return best;
}

/// Returns lowest, mean and highest of a quantity over the seeds.
template <class F>
std::array<double, 3> over_seeds(const Contender& c, F quantity) {
  std::array<double, 3> v = {std::numeric_limits<double>::infinity(), 0,
                             -std::numeric_limits<double>::infinity()};
  for (const Training& t : c.trainings) {
    v[0] = std::min(v[0], quantity(t));
    v[1] += quantity(t) / double(c.trainings.size());
    v[2] = std::max(v[2], quantity(t));
  }
  return v;
}

/// Decides by the ratio of two losses, seed by seed. A loss that is not finite counts as 1e6.
template <class F>
Decided by_ratio(const Claim& claim, const Contender& better, const Contender& worse, const char* what,
                 F loss) {
  const auto finite = [&](const Training& t) { return std::min(loss(t), 1e6); };
  std::vector<double> ratios;
  for (size_t s = 0; s < kSeeds; ++s)
    ratios.push_back(finite(worse.trainings[s]) / finite(better.trainings[s]));
  const auto [low, high] = std::ranges::minmax(ratios);
  return decide(claim, {{"", ratios}},
                fmt::format("{} of {} over that of {}, over {} seeds: {:.2f} to {:.2f}", what, worse.name,
                            better.name, kSeeds, low, high));
}

Outcome run_network(uint64_t seed, const std::string& line) {
  Outcome out{
      .heads = {"optimizer", "rate", "loss, steps 11 to 20", "loss, last 15 steps", "right in the test"},
      .x = "step",
      .y = "loss, mean over the seeds",
      .log_y = true};
  const Data data{make_glyphs(1920, seed), make_glyphs(512, seed + 1)};
  const std::vector<double> plain = {0.03, 0.1, 0.3}, adaptive = {1e-3, 3e-3, 1e-2};
  std::vector<Contender> all;
  for (const char* name : {"sgd", "momentum", "nesterov"})
    all.push_back(at_best_rate(line, data, name, plain, seed));
  for (const char* name : {"adam", "adamw", "nadam"})
    all.push_back(at_best_rate(line, data, name, adaptive, seed));
  for (const Contender& c : all) {
    const auto spread = [](const std::array<double, 3>& v) {
      return fmt::format("{:.3f} ({:.3f} to {:.3f})", v[1], v[0], v[2]);
    };
    const auto right = over_seeds(c, [](const Training& t) { return 100 * t.right; });
    out.rows.push_back({c.name, fmt::format("{:.3g}", c.rate),
                        spread(over_seeds(c, [](const Training& t) { return t.early(); })),
                        spread(over_seeds(c, [](const Training& t) { return t.final(); })),
                        fmt::format("{:.1f} % ({:.1f} to {:.1f})", right[1], right[0], right[2])});
    Curve curve{c.name, {}};
    for (int64_t i = 0; i + 5 <= kSteps; i += 5) {
      const double loss = over_seeds(c, [i](const Training& t) { return t.mean(i, i + 5); })[1];
      if (std::isfinite(loss) && loss > 0) curve.points.emplace_back(double(i) + 2.5, loss);
    }
    out.curves.push_back(std::move(curve));
  }
  const auto early = [](const Training& t) { return t.early(); };
  const auto last = [](const Training& t) { return t.final(); };
  out.decided = {
      by_ratio(kSlowStart, all[0], all[1], "early loss", early),
      by_ratio(kMomentum, all[1], all[0], "final loss", last),
      by_ratio(kNesterov, all[2], all[1], "final loss", last),
      by_ratio(kAdam, all[3], all[1], "final loss", last),
  };
  return out;
}

Outcome run(uint64_t seed) { return run_network(seed, kNetwork); }

const ExperimentRegistrar registrar(
    {"optimizers",
     "Six optimizers on pictures of ten glyphs, each at the best of three rates",
     run,
     run_network,
     {kSlowStart, kMomentum, kNesterov, kAdam},
     5});

}  // namespace
}  // namespace klab::learning::optimizers_experiment
