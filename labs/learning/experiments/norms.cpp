// The effect of layer normalization on initialization: 1.7/n, 2/n and 2.3/n, with and without it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

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

const Claim kActivations{.id = "norms.activations",
                         .said = "LayerNorm evens the sizes of activations from 1.7/n, 2/n and 2.3/n",
                         .source = "course",
                         .metric = "largest over smallest of the three rms behind layer 20, with LayerNorm",
                         .rule = at_most(1.2),
                         .on = "when they are compared"};
const Claim kGradients{.id = "norms.gradients",
                       .said = "LayerNorm evens the sizes of gradients from 1.7/n, 2/n and 2.3/n",
                       .source = "course",
                       .metric = "largest over smallest of the three rms behind layer 1, with LayerNorm",
                       .rule = at_most(1.2),
                       .on = "when they are compared"};
const Claim kWeights{.id = "norms.weights",
                     .said = "under LayerNorm the sizes of weights stay in the relation that they begin in",
                     .source = "course",
                     .metric = "rms of weights from 2.3/n over that from 1.7/n, after training over before",
                     .rule = between(0.95, 1.05)};

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

/// Root mean squares in a network.
struct Sizes {
  double activations = 0;  // behind the last hidden layer
  double gradients = 0;    // of the outputs of the first
  double weights = 0;      // of all hidden layers
};

/// Measures them on the next batch, without a step.
Sizes sizes_in(Learner& learner, bool norms) {
  learner.find_gradient();
  const Network& net = learner.network();
  const auto size = [](std::span<const float> v) { return rms(v.data(), int64_t(v.size())); };
  Sizes s{.activations = size(net.values(net.modules().size() - 2)),
          .gradients = size(net.gradients(norms ? 3 : 2))};
  double squares = 0;
  int64_t count = 0;
  for (const Tensor& t : net.parameters().tensors()) {
    if (!t.decays || !t.name.starts_with("linear")) continue;
    const double of_layer = rms(t.value, t.size());
    squares += of_layer * of_layer * double(t.size());
    count += t.size();
  }
  s.weights = std::sqrt(squares / double(count));
  return s;
}

/// The spread of one size over the three beginnings.
double spread(const Sizes (&sizes)[3], double Sizes::*of) {
  const double values[3] = {sizes[0].*of, sizes[1].*of, sizes[2].*of};
  return spread(values);
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"network", "variance", "loss of the first batch", "loss after 300 steps", "right",
                        "activations, before and after", "gradients", "weights"},
              .x = "variance times n",
              .y = "loss"};
  const Examples train = make_glyphs(3000, seed), test = make_glyphs(1000, seed + 1);
  double loss[2][3], first[2][3];
  Sizes before[2][3], after[2][3];
  const double times[] = {1.7, 2.0, 2.3};
  for (const int norms : {0, 1}) {
    Curve curve{norms != 0 ? "with LayerNorm" : "plain", {}};
    for (int k = 0; k < 3; ++k) {
      Learner learner(deep(norms != 0), train, 50, {.rate = 1e-3, .decay = 0}, seed);
      learner.draw(times[k], seed);
      first[norms][k] = learner.find_gradient();
      before[norms][k] = sizes_in(learner, norms != 0);
      loss[norms][k] = learner.train(kTrainSteps);
      const double right = learner.accuracy(test);
      after[norms][k] = sizes_in(learner, norms != 0);
      const auto then = [&](double Sizes::*of) {
        return fmt::format("{:.2e}, {:.2e}", before[norms][k].*of, after[norms][k].*of);
      };
      curve.points.emplace_back(times[k], loss[norms][k]);
      out.rows.push_back({curve.name, fmt::format("{}/n", times[k]), fmt::format("{:.4f}", first[norms][k]),
                          fmt::format("{:.4f}", loss[norms][k]), percent_text(right),
                          then(&Sizes::activations), then(&Sizes::gradients), then(&Sizes::weights)});
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
  const auto decide_spread = [&](const Claim& claim, double Sizes::*of) {
    out.decided.push_back(decide(
        claim, {{"on the first batch", {spread(before[1], of)}}, {"after 300 steps", {spread(after[1], of)}}},
        fmt::format("the three are apart by a factor of {:.2f} on the first batch and {:.2f} after {} steps; "
                    "without LayerNorm by {:.2f} and {:.2f}",
                    spread(before[1], of), spread(after[1], of), kTrainSteps, spread(before[0], of),
                    spread(after[0], of))));
  };
  decide_spread(kActivations, &Sizes::activations);
  decide_spread(kGradients, &Sizes::gradients);
  const auto of_weights = [](const Sizes(&s)[3]) { return s[2].weights / s[0].weights; };
  out.decided.push_back(decide(
      kWeights, of_weights(after[1]) / of_weights(before[1]),
      fmt::format(
          "weights from 2.3/n are {:.3f} times as large as those from 1.7/n before training and {:.3f} "
          "times after it",
          of_weights(before[1]), of_weights(after[1]))));
  return out;
}

const ExperimentRegistrar registrar({"norms",
                                     "Deep networks that begin with 1.7/n, 2/n and 2.3/n, plain and with "
                                     "LayerNorm",
                                     run,
                                     nullptr,
                                     {kAlike, kHarder, kActivations, kGradients, kWeights}});

}  // namespace
}  // namespace klab::learning::norms_experiment
