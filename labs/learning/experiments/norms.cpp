// What a layer normalization does to the beginning: 1.7/n, 2/n and 2.3/n, with and without; and how far weights move.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"
#include "labs/learning/network/normalization.h"

namespace klab::learning {
namespace {

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

Outcome run(uint64_t seed) {
  Outcome out{
      .heads = {"network", "variance", "loss after 300 steps", "right", "weights moved, median of layers"},
      .x = "variance times n",
      .y = "loss"};
  const Examples train = make_glyphs(3000, seed), test = make_glyphs(1000, seed + 1);
  double loss[2][3], moved_most = 0;
  const double times[] = {1.7, 2.0, 2.3};
  for (const int norms : {0, 1}) {
    Curve curve{norms != 0 ? "with LayerNorm" : "plain", {}};
    for (int k = 0; k < 3; ++k) {
      Learner learner(deep(norms != 0), train, 50, {.rate = 1e-3, .decay = 0}, seed);
      learner.draw(times[k], seed);
      std::vector<std::vector<float>> begun;
      for (const Tensor& t : learner.network().parameters().tensors())
        begun.emplace_back(t.value, t.value + t.size());
      loss[norms][k] = learner.train(kTrainSteps);
      std::vector<double> moved;
      for (size_t i = 0; i < begun.size(); ++i) {
        const Tensor& t = learner.network().parameters().tensors()[i];
        if (!t.decays) continue;
        std::vector<float> difference(begun[i]);
        for (size_t j = 0; j < difference.size(); ++j) difference[j] = t.value[j] - begun[i][j];
        moved.push_back(rms(difference.data(), t.size()) / rms(begun[i].data(), t.size()));
      }
      std::ranges::sort(moved);
      moved_most = std::max(moved_most, moved[moved.size() / 2]);
      curve.points.emplace_back(times[k], loss[norms][k]);
      out.rows.push_back({curve.name, fmt::format("{}/n", times[k]), fmt::format("{:.4f}", loss[norms][k]),
                          fmt::format("{:.1f} %", 100 * learner.accuracy(test)),
                          fmt::format("{:.0f} %", 100 * moved[moved.size() / 2])});
    }
    out.curves.push_back(curve);
  }
  const auto spread = [](const double(&l)[3]) {
    return *std::ranges::max_element(l) / *std::ranges::min_element(l);
  };
  const bool alike = spread(loss[1])<spread(loss[0]), harder = loss[1][1]> loss[0][1],
             little = moved_most < 0.5;
  out.finding = alike && harder && little   ? Finding::held
                : alike || harder || little ? Finding::depends
                                            : Finding::refuted;
  out.because = fmt::format(
      "losses of the three beginnings are apart by a factor of {:.2f} plain, {:.2f} with LayerNorm; at 2/n "
      "the loss is "
      "{:.3f} plain, {:.3f} with it; weights move by up to {:.0f} % of their size",
      spread(loss[0]), spread(loss[1]), loss[0][1], loss[1][1], 100 * moved_most);
  return out;
}

const ExperimentRegistrar registrar(
    {"norms",
     "LayerNorm makes beginnings of 1.7/n, 2/n and 2.3/n alike; such networks are harder to train to "
     "low loss; weights move little from where they begin",
     run});

}  // namespace
}  // namespace klab::learning
