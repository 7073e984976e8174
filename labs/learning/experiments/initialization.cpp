// Activations and gradients through 50 layers of 100 units, by the variance of the initial weights; and
// learning from zeros.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"

namespace klab::learning::initialization_experiment {
namespace {

const Claim kExceed{.id = "initialization.exceed",
                    .said = "50 ReLU layers of 100 units, variance 3/n: activations exceed 1000",
                    .source = "course",
                    .metric = "rms of the activations behind layer 50",
                    .rule = at_least(1000)};
const Claim kTiny{.id = "initialization.tiny_gradients",
                  .said = "50 ReLU layers of 100 units, variance 3/n: gradients are about 1e-8",
                  .source = "course",
                  .metric = "gradient at layer 1 over that at layer 50",
                  .rule = at_most(1e-6)};
const Claim kOverflow{.id = "initialization.overflow",
                      .said = "50 ReLU layers of 100 units, variance 3/n: numbers overflow",
                      .source = "course",
                      .metric = "rms of the activations behind layer 50",
                      .rule = at_least(3e38)};
const Claim kStay{.id = "initialization.stay",
                  .said = "50 ReLU layers of 100 units: with 2/n they stay about 1",
                  .source = "course",
                  .metric = "size behind 50 layers over that in front",
                  .rule = between(0.1, 10),
                  .on = "the direction"};
const Claim kFall{.id = "initialization.fall",
                  .said = "50 ReLU layers of 100 units: with 1/n they fall below 1/100",
                  .source = "course",
                  .metric = "rms of the activations behind layer 50",
                  .rule = at_most(0.01)};
const Claim kZeros{.id = "initialization.zeros",
                   .said = "weights that begin with zeros learn nothing",
                   .source = "course",
                   .metric = "share of ten classes right after 300 steps",
                   .rule = at_most(0.2)};

constexpr int kLayers = 50, kWidth = 100, kSeeds = 5;

std::unique_ptr<Network> deep(int64_t kind) {
  auto net = std::make_unique<Network>(Dims{kWidth});
  for (int i = 0; i < kLayers; ++i)
    net->add<Linear>(fmt::format("linear{}", i + 1), int64_t{kWidth})
        .add<Activation>(fmt::format("activation{}", i + 1), kind);
  return net;
}

Examples noise(uint64_t seed) {
  Examples e{.dims = {kWidth}, .classes = kWidth, .values = {}, .labels = {}};
  const Draws draws(seed, 0, 320);
  for (int64_t i = 0; i < 100; ++i) {
    for (int64_t j = 0; j < kWidth; ++j) {
      const auto at = uint64_t(2 * (i * kWidth + j));
      e.values.push_back(std::sqrt(-2 * std::log(1 - draws.unit(at))) *
                         std::cos(2 * float(M_PI) * draws.unit(at + 1)));
    }
    e.labels.push_back(int32_t(i));
  }
  return e;
}

/// Geometric means over seeds, for each layer.
struct Norms {
  std::vector<double> activations = std::vector<double>(kLayers), gradients = std::vector<double>(kLayers);
  std::vector<double> lasts, backs;  // last() and back() of each seed
  double last() const { return std::exp(activations.back()); }
  /// Returns the gradient at the first layer's input relative to that at the last layer.
  double back() const { return std::exp(gradients.front() - gradients.back()); }
};

Norms norms_at(Learner& learner, double times, uint64_t seed) {
  Norms n;
  const auto size = [](const std::span<float> v) { return std::max(1e-300, rms(v.data(), 100 * kWidth)); };
  for (int s = 0; s < kSeeds; ++s) {
    learner.draw(times, seed + uint64_t(s));
    learner.find_gradient();
    for (int i = 0; i < kLayers; ++i) {
      n.activations[size_t(i)] += std::log(size(learner.network().values(size_t(2 * i + 1)))) / kSeeds;
      n.gradients[size_t(i)] += std::log(size(learner.network().gradients(size_t(2 * i)))) / kSeeds;
    }
    constexpr size_t last = kLayers - 1;
    n.lasts.push_back(size(learner.network().values(2 * last + 1)));
    n.backs.push_back(size(learner.network().gradients(0)) / size(learner.network().gradients(2 * last)));
  }
  return n;
}

void show(Outcome& out, const std::string& name, const std::string& variance, const Norms& n, bool draw) {
  out.rows.push_back({name, variance, fmt::format("{:.2e}", n.last()), fmt::format("{:.2e}", n.back())});
  if (!draw) return;
  Curve activations{variance + ", activations", {}}, gradients{variance + ", gradients over the last", {}};
  for (int i = 0; i < kLayers; ++i) {
    activations.points.emplace_back(i + 1, std::exp(n.activations[size_t(i)]));
    gradients.points.emplace_back(i + 1, std::exp(n.gradients[size_t(i)] - n.gradients.back()));
  }
  out.curves.push_back(activations);
  out.curves.push_back(gradients);
}

/// The result of a network of three layers that begins with zeros, after 300 steps.
struct Zeros {
  double loss = 0, right = 0;
  int64_t moved = 0, all = 0;
};

Zeros from_zeros(uint64_t seed) {
  const Examples train = make_glyphs(2000, seed), test = make_glyphs(1000, seed + 1);
  auto net = std::make_unique<Network>(Dims{1, 28, 28});
  net->add<Linear>("linear1", int64_t{100}).add<Activation>("relu1", activation::relu);
  net->add<Linear>("linear2", int64_t{100}).add<Activation>("relu2", activation::relu);
  net->add<Linear>("output", int64_t{10});
  Learner learner(std::move(net), train, 50, {.rate = 1e-3, .decay = 0}, seed);
  learner.draw(0, seed);
  Zeros z;
  z.loss = learner.train(300);
  z.right = learner.accuracy(test);
  for (const Tensor& t : learner.network().parameters().tensors()) {
    z.moved += t.size() - std::count(t.value, t.value + t.size(), 0.0F);
    z.all += t.size();
  }
  return z;
}

Decided zeros(uint64_t seed) {
  const Zeros first = from_zeros(seed);
  std::vector<double> right = {first.right};
  for (uint64_t s = 1; s < kSeeds; ++s) right.push_back(from_zeros(seed + s).right);
  return decide(kZeros, {{"", right}},
                fmt::format("after 300 steps {} of {} parameters have moved, the last biases; the loss is "
                            "{:.3f}, ln 10 is {:.3f}; {} are right",
                            first.moved, first.all, first.loss, std::log(10.0), percent_text(first.right)));
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"network", "variance", "activations, layer 50", "gradient, layer 1 over layer 50"},
              .x = "layer",
              .y = "rms",
              .log_y = true};
  const Examples e = noise(seed);
  Learner relu(deep(activation::relu), e, 100, {}, seed), tanh(deep(activation::tanh), e, 100, {}, seed);
  Norms n[4];
  const char* names[] = {"", "1/n", "2/n", "3/n"};
  const char* who[] = {"", " (Xavier: 2/(n + n))", " (Kaiming)", ""};
  for (int k = 1; k < 4; ++k) {
    n[k] = norms_at(relu, k, seed);
    show(out, std::string("ReLU") + who[k], names[k], n[k], true);
  }
  for (int k = 1; k < 3; ++k)
    show(out, std::string("tanh") + who[k], names[k], norms_at(tanh, k, seed), false);
  out.decided = {
      decide(kExceed, {{"", n[3].lasts}}, fmt::format("their rms is {:.1e} behind layer 50", n[3].last())),
      decide(kTiny, {{"", n[3].backs}},
             fmt::format("on the way back from layer 50 to layer 1 they grow by {:.1e}: the same matrices, "
                         "transposed, carry them, so they go the way that activations go",
                         n[3].back())),
      decide(kOverflow, {{"", n[3].lasts}},
             fmt::format("{:.1e} is far from the largest float, 3.4e+38", n[3].last())),
      decide(kStay, {{"forward, activations", n[2].lasts}, {"backward, gradients", n[2].backs}},
             fmt::format(
                 "activations {:.2f} behind layer 50; gradients of layer 1 are {:.2f} of those of layer 50",
                 n[2].last(), n[2].back())),
      decide(
          kFall, {{"", n[1].lasts}},
          fmt::format("activations {:.1e}, gradients {:.1e} of those of layer 50", n[1].last(), n[1].back())),
      zeros(seed)};
  return out;
}

const ExperimentRegistrar registrar({"initialization",
                                     "50 layers of 100 units by the variance that weights begin with, and a "
                                     "network that begins with zeros",
                                     run,
                                     nullptr,
                                     {kExceed, kTiny, kOverflow, kStay, kFall, kZeros},
                                     5});

}  // namespace
}  // namespace klab::learning::initialization_experiment
