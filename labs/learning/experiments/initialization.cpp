// Activations and gradients through 50 ReLU layers of 100 units, by the variance that weights begin with.
#include <fmt/format.h>

#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"

namespace klab::learning {
namespace {

constexpr int kLayers = 50, kWidth = 100, kSeeds = 5;

std::unique_ptr<Network> deep() {
  auto net = std::make_unique<Network>(Dims{kWidth});
  for (int i = 0; i < kLayers; ++i)
    net->add<Linear>(fmt::format("linear{}", i + 1), int64_t{kWidth})
        .add<Activation>(fmt::format("relu{}", i + 1), activation::relu);
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

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"variance", "activations, layer 50", "gradient, layer 1 over layer 50"},
              .x = "layer",
              .y = "rms of the activations",
              .log_y = true};
  const Examples e = noise(seed);
  Learner learner(deep(), e, 100, {}, seed);
  double last[4] = {}, ratio[4] = {};
  for (int k = 0; k < 4; ++k) {
    Curve curve{k == 0 ? "0" : fmt::format("{}/n", k), {}};
    std::vector<double> activations(kLayers);
    double first_gradient = 0, last_gradient = 0;
    for (int s = 0; s < kSeeds; ++s) {
      learner.draw(k, seed + uint64_t(s));
      learner.look();
      for (int i = 0; i < kLayers; ++i)  // geometric mean over seeds
        activations[size_t(i)] +=
            std::log(
                std::max(1e-300, rms(learner.network().values(size_t(2 * i + 1)).data(), 100 * kWidth))) /
            kSeeds;
      // The gradients of what goes into the first and into the last layer.
      first_gradient += rms(learner.network().gradients(0).data(), 100 * kWidth);
      last_gradient += rms(learner.network().gradients(2 * kLayers - 2).data(), 100 * kWidth);
    }
    for (int i = 0; i < kLayers; ++i)
      if (k > 0) curve.points.emplace_back(i + 1, std::exp(activations[size_t(i)]));
    last[k] = k == 0 ? 0 : std::exp(activations.back());
    ratio[k] = last_gradient > 0 ? first_gradient / last_gradient : 0;
    if (k > 0) out.curves.push_back(curve);
    out.rows.push_back({curve.name, fmt::format("{:.2e}", last[k]), fmt::format("{:.2e}", ratio[k])});
  }
  const bool activations_hold = last[3] > 1e3 && last[2] > 0.1 && last[2] < 10 && last[1] < 1e-2;
  const bool small_gradients = ratio[3] < 1e-4;
  out.finding = activations_hold && small_gradients ? Finding::held
                : activations_hold                  ? Finding::depends
                                                    : Finding::refuted;
  out.because = fmt::format(
      "rms of layer 50 is {:.1e} at 3/n, {:.2f} at 2/n, {:.1e} at 1/n. Gradients go the same way as "
      "activations: at 3/n they grow by {:.1e} on the way back, they do not vanish, and nothing overflows",
      last[3], last[2], last[1], ratio[3]);
  return out;
}

const ExperimentRegistrar registrar(
    {"initialization",
     "50 ReLU layers of 100 units: at 3/n activations exceed 1000 and gradients vanish, at 2/n both "
     "hold, at 1/n activations fall below 1/100; at 0 nothing learns",
     run});

}  // namespace
}  // namespace klab::learning
