// Compares random features with learned ones: a hidden layer that stays as initialized, or learns.
#include <fmt/format.h>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"

namespace klab::learning::features_experiment {
namespace {

const Claim kLearned{.id = "features.learned",
                     .said = "on spirals, learned features beat random ones of the same number",
                     .source = "course",
                     .metric = "percentage points of 32 learned features over 32 random ones",
                     .rule = at_least(2)};

std::unique_ptr<Network> two_layers(int64_t width) {
  auto net = std::make_unique<Network>(Dims{2});
  net->add<Linear>("hidden", width)
      .add<Activation>("relu", activation::relu)
      .add<Linear>("output", int64_t{3});
  return net;
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"hidden units", "random features", "learned features"},
              .x = "hidden units",
              .y = "right in the test, %",
              .log_x = true};
  const Examples train = make_spirals(3000, seed), test = make_spirals(1024, seed + 1);
  Curve drawn{"random", {}}, learned{"learned", {}};
  int64_t enough = 0;  // random units that match 32 learned ones
  double goal = 0;
  for (const int64_t width : {8, 32, 128, 512}) {
    double accuracy[2];
    for (const int learns : {0, 1}) {
      Learner learner(two_layers(width), train, 100, {.rate = 1e-2, .decay = 0}, seed);
      // Bend the features inside the disk, not only at its center.
      for (const Tensor& t : learner.network().parameters().tensors())
        if (t.name == "hidden.bias") draw_normal(t, 0.25, seed);
      learner.train(1500, learns != 0 ? "" : "output");
      accuracy[learns] = learner.accuracy(test);
    }
    drawn.points.emplace_back(double(width), 100 * accuracy[0]);
    learned.points.emplace_back(double(width), 100 * accuracy[1]);
    if (width == 32) goal = accuracy[1];
    if (enough == 0 && goal > 0 && accuracy[0] >= goal) enough = width;
    out.rows.push_back({std::to_string(width), fmt::format("{:.1f} %", 100 * accuracy[0]),
                        fmt::format("{:.1f} %", 100 * accuracy[1])});
  }
  out.curves = {drawn, learned};
  out.decided = {decide(kLearned, learned.points[1].second - drawn.points[1].second,
                        fmt::format("32 learned units are right in {:.1f} %, 32 random ones in {:.1f} %; {}",
                                    learned.points[1].second, drawn.points[1].second,
                                    enough > 0 ? fmt::format("it takes {} random ones to match them", enough)
                                               : "not even 512 random ones match them"))};
  return out;
}

const ExperimentRegistrar registrar({"features",
                                     "Spirals by a hidden layer that stays as it was drawn, or learns",
                                     run,
                                     nullptr,
                                     {kLearned}});

}  // namespace
}  // namespace klab::learning::features_experiment
