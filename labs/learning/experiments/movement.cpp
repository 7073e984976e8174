// How far weights move from their initial values, and whether these can still be recognized after training.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"

namespace klab::learning::movement_experiment {
namespace {

const Claim kPersists{
    .id = "movement.persists",
    .said = "the effect of the initialization persists after training",
    .source = "course",
    .metric = "log of the ratio of weights' sizes from 8/n and 0.1/n, after training over before",
    .rule = at_least(0.5)};
const Claim kLittle{.id = "movement.little",
                    .said = "weights move little from where they begin",
                    .source = "course",
                    .metric = "rms of their way over their initial rms",
                    .rule = at_most(0.5),
                    .on = "the initial variance"};

constexpr int64_t kTrainSteps = 600;

std::unique_ptr<Network> net() {
  auto n = std::make_unique<Network>(Dims{1, 28, 28});
  for (int i = 1; i <= 3; ++i)
    n->add<Linear>(fmt::format("linear{}", i), int64_t{128})
        .add<Activation>(fmt::format("relu{}", i), activation::relu);
  n->add<Linear>("output", int64_t{10});
  return n;
}

/// Returns the matrices of a network in one vector.
std::vector<float> matrices(Learner& learner) {
  std::vector<float> all;
  for (const Tensor& t : learner.network().parameters().tensors())
    if (t.decays) all.insert(all.end(), t.value, t.value + t.size());
  return all;
}

/// The result of one initialization.
struct Moved {
  double before, after, way;  // rms of the weights, and of their change relative to the initial rms
  double loss, right;
};

Moved learn(double times, const Examples& train, const Examples& test, uint64_t seed) {
  Learner learner(net(), train, 50, {.rate = 1e-3, .decay = 0}, seed);
  learner.draw(times, seed);
  const std::vector<float> begun = matrices(learner);
  Moved m{};
  m.loss = learner.train(kTrainSteps);
  const std::vector<float> now = matrices(learner);
  std::vector<float> difference(now);
  for (size_t i = 0; i < now.size(); ++i) difference[i] -= begun[i];
  const auto n = int64_t(now.size());
  m.before = rms(begun.data(), n), m.after = rms(now.data(), n);
  m.way = rms(difference.data(), n) / m.before;
  m.right = learner.accuracy(test);
  return m;
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"variance", "rms of weights, before", "after", "moved, of their size",
                        "loss after 600 steps", "right"},
              .x = "variance times n",
              .y = "rms of the weights",
              .log_x = true,
              .log_y = true};
  const Examples train = make_glyphs(3000, seed), test = make_glyphs(1000, seed + 1);
  Curve before{"at the beginning", {}}, after{"after training", {}}, way{"of the way between", {}};
  std::vector<Moved> all;
  for (const double times : {0.1, 0.5, 2.0, 8.0}) {
    const Moved m = learn(times, train, test, seed);
    all.push_back(m);
    before.points.emplace_back(times, m.before);
    after.points.emplace_back(times, m.after);
    way.points.emplace_back(times, m.way * m.before);
    out.rows.push_back({fmt::format("{}/n", times), fmt::format("{:.4f}", m.before),
                        fmt::format("{:.4f}", m.after), percent_text(m.way), fmt::format("{:.4f}", m.loss),
                        percent_text(m.right)});
  }
  out.curves = {before, after, way};
  const double apart = all.back().before / all.front().before, still = all.back().after / all.front().after;
  out.decided = {
      decide(kPersists, std::log(still) / std::log(apart),
             fmt::format(
                 "sizes of weights that began {:.1f} times apart are {:.1f} times apart after {} steps; {} "
                 "are right from 0.1/n, {} from 8/n",
                 apart, still, kTrainSteps, percent_text(all.front().right), percent_text(all.back().right))),
      decide(kLittle,
             {{"0.1/n", {all[0].way}}, {"0.5/n", {all[1].way}}, {"2/n", {all[2].way}}, {"8/n", {all[3].way}}},
             fmt::format(
                 "from 2/n by {} of their size, from 0.1/n by {}: a step's length does not know how large "
                 "the weights are",
                 percent_text(all[2].way), percent_text(all[0].way)))};
  return out;
}

const ExperimentRegistrar registrar(
    {"movement", "How far weights move from where they begin", run, nullptr, {kPersists, kLittle}});

}  // namespace
}  // namespace klab::learning::movement_experiment
