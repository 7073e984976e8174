// The effect of layer normalization on initialization: 1.7/n, 2/n and 2.3/n, with and without it.
#include <fmt/format.h>

#include <algorithm>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"
#include "labs/learning/network/normalization.h"

namespace klab::learning::norms_experiment {
namespace {

const Claim kAlike{.id = "norms.alike",
                   .said = "LayerNorm makes beginnings of 1.7/n, 2/n and 2.3/n alike",
                   .source = "course",
                   .metric = "ratio of the largest loss to the smallest, plain over with LayerNorm",
                   .rule = at_least(1),
                   .on = "when they are compared"};
const Claim kHarder{.id = "norms.harder",
                    .said = "networks with LayerNorm are harder to train to a low loss",
                    .source = "course",
                    .metric = "loss from 2/n with LayerNorm over the plain one, after 300 steps",
                    .rule = at_least(1)};

constexpr int kDepth = 20;
constexpr int64_t kWidth = 64, kTrainSteps = 300;

std::unique_ptr<Network> deep(bool norms) {
  auto net = std::make_unique<Network>(Dims{1, 28, 28});
  for (int i = 0; i < kDepth; ++i) {
    net->add<Linear>(fmt::format("linear{}", i), kWidth);
    if (norms) net->add<LayerNorm>(fmt::format("norm{}", i));
    net->add<Activation>(fmt::format("relu{}", i), activation::relu);
  }
  net->add<Linear>("output", int64_t{10});
  return net;
}

double spread(const double (&loss)[3]) {
  return *std::ranges::max_element(loss) / *std::ranges::min_element(loss);
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"network", "variance", "loss of the first batch", "loss after 300 steps", "right"},
              .x = "variance times n",
              .y = "loss"};
  const Examples train = make_glyphs(3000, seed), test = make_glyphs(1000, seed + 1);
  double loss[2][3], first[2][3];
  const double times[] = {1.7, 2.0, 2.3};
  for (const int norms : {0, 1}) {
    Curve curve{norms != 0 ? "with LayerNorm" : "plain", {}};
    for (int k = 0; k < 3; ++k) {
      Learner learner(deep(norms != 0), train, 50, {.rate = 1e-3, .decay = 0}, seed);
      learner.draw(times[k], seed);
      first[norms][k] = learner.find_gradient();
      loss[norms][k] = learner.train(kTrainSteps);
      curve.points.emplace_back(times[k], loss[norms][k]);
      out.rows.push_back({curve.name, fmt::format("{}/n", times[k]), fmt::format("{:.4f}", first[norms][k]),
                          fmt::format("{:.4f}", loss[norms][k]), percent_text(learner.accuracy(test))});
    }
    out.curves.push_back(curve);
  }
  out.decided = {
      decide(kAlike,
             {{"on the first batch", {spread(first[0]) / spread(first[1])}},
              {"after 300 steps", {spread(loss[0]) / spread(loss[1])}}},
             fmt::format(
                 "the three first losses are apart by a factor of {:.2f} plain and {:.2f} with LayerNorm, "
                 "those after {} steps by {:.2f} and {:.2f}",
                 spread(first[0]), spread(first[1]), kTrainSteps, spread(loss[0]), spread(loss[1]))),
      decide(
          kHarder, loss[1][1] / loss[0][1],
          fmt::format(
              "{} layers that begin with 2/n are at a loss of {:.3f} plain and {:.3f} with LayerNorm, after "
              "the same {} steps at the same rate",
              kDepth, loss[0][1], loss[1][1], kTrainSteps))};
  return out;
}

const ExperimentRegistrar registrar({"norms",
                                     "Deep networks that begin with 1.7/n, 2/n and 2.3/n, plain and with "
                                     "LayerNorm",
                                     run,
                                     nullptr,
                                     {kAlike, kHarder}});

}  // namespace
}  // namespace klab::learning::norms_experiment
