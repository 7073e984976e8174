// Compares random features with learned ones: a hidden layer that stays as initialized, or learns; and random cosines in place of it.
#include <fmt/format.h>

#include <cmath>

#include "harness/program/random.h"
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

const Claim kFourier{
    .id = "features.fourier",
    .said = "on spirals, random Fourier features beat random ReLU features of the same number",
    .source = "course",
    .metric = "percentage points of random Fourier features over random ReLU features",
    .rule = at_least(0),
    .on = "the number of features"};
const Claim kFourierLearned{
    .id = "features.fourier_learned",
    .said = "on spirals, random Fourier features are as good as learned ReLU features",
    .source = "course",
    .metric = "percentage points of random Fourier features over learned ReLU features",
    .rule = at_least(-0.5),
    .on = "the number of features"};

/// Returns the points with `width` random Fourier features in place of their coordinates: cosines along random directions (Rahimi and
/// Recht, "Random Features for Large-Scale Kernel Machines", 2007). Equal seeds give equal features.
Examples fourier(const Examples& points, int64_t width, uint64_t seed) {
  constexpr double kFrequency = 6;  // deviation of the weights, radians per radius of the disk
  const Draws draws(seed, 0, 340);
  const auto normal = [&](uint64_t i) {  // Box and Muller 1958
    return std::sqrt(-2 * std::log(1 - double(draws.unit(2 * i)))) *
           std::cos(2 * M_PI * double(draws.unit(2 * i + 1)));
  };
  Examples e{.dims = {width}, .classes = points.classes, .values = {}, .labels = points.labels};
  e.values.reserve(points.labels.size() * size_t(width));
  const auto n = size_t(width);
  std::vector<double> along(n), across(n), phase(n);
  for (size_t k = 0; k < n; ++k) {
    along[k] = kFrequency * normal(2 * k), across[k] = kFrequency * normal(2 * k + 1);
    phase[k] = 2 * M_PI * double(Draws(seed, 0, 341).unit(k));
  }
  for (size_t i = 0; i < points.labels.size(); ++i)
    for (size_t k = 0; k < n; ++k)
      e.values.push_back(float(M_SQRT2 * std::cos(along[k] * double(points.values[2 * i]) +
                                                  across[k] * double(points.values[2 * i + 1]) + phase[k])));
  return e;
}

double fourier_accuracy(const Examples& train, const Examples& test, int64_t width, int64_t steps,
                        uint64_t seed) {
  const Examples from = fourier(train, width, seed), to = fourier(test, width, seed);
  auto net = std::make_unique<Network>(from.dims);
  net->add<Linear>("output", int64_t{3});
  Learner learner(std::move(net), from, 100, {.rate = 1e-2, .decay = 0}, seed);
  learner.train(steps);
  return learner.accuracy(to);
}

std::unique_ptr<Network> two_layers(int64_t width) {
  auto net = std::make_unique<Network>(Dims{2});
  net->add<Linear>("hidden", width)
      .add<Activation>("relu", activation::relu)
      .add<Linear>("output", int64_t{3});
  return net;
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"features", "random ReLU", "random Fourier", "learned ReLU"},
              .x = "features",
              .y = "right in the test, %",
              .log_x = true};
  const Examples train = make_spirals(3000, seed), test = make_spirals(1024, seed + 1);
  constexpr int64_t kSteps = 1500;
  Curve drawn{"random ReLU", {}}, cosines{"random Fourier", {}}, learned{"learned ReLU", {}};
  int64_t enough = 0;  // random units that match 32 learned ones
  double goal = 0;
  for (const int64_t width : {8, 32, 128, 512}) {
    double accuracy[2];
    for (const int learns : {0, 1}) {
      Learner learner(two_layers(width), train, 100, {.rate = 1e-2, .decay = 0}, seed);
      // Bend the features inside the disk, not only at its center.
      for (const Tensor& t : learner.network().parameters().tensors())
        if (t.name == "hidden.bias") draw_normal(t, 0.25, seed);
      learner.train(kSteps, learns != 0 ? "" : "output");
      accuracy[learns] = learner.accuracy(test);
    }
    drawn.points.emplace_back(double(width), 100 * accuracy[0]);
    learned.points.emplace_back(double(width), 100 * accuracy[1]);
    cosines.points.emplace_back(double(width), 100 * fourier_accuracy(train, test, width, kSteps, seed));
    if (width == 32) goal = accuracy[1];
    if (enough == 0 && goal > 0 && accuracy[0] >= goal) enough = width;
    out.rows.push_back({std::to_string(width), fmt::format("{:.1f} %", 100 * accuracy[0]),
                        fmt::format("{:.1f} %", cosines.points.back().second),
                        fmt::format("{:.1f} %", 100 * accuracy[1])});
  }
  out.curves = {drawn, cosines, learned};
  out.decided = {decide(kLearned, learned.points[1].second - drawn.points[1].second,
                        fmt::format("32 learned units are right in {:.1f} %, 32 random ones in {:.1f} %; {}",
                                    learned.points[1].second, drawn.points[1].second,
                                    enough > 0 ? fmt::format("it takes {} random ones to match them", enough)
                                               : "not even 512 random ones match them"))};
  const auto compare = [&](const Claim& claim, const Curve& other) {
    std::vector<ClaimRow> rows;
    std::string text;
    for (size_t i = 1; i < other.points.size(); ++i) {  // 8 features are too few of any kind
      rows.push_back({fmt::format("{:.0f}", other.points[i].first),
                      {cosines.points[i].second - other.points[i].second}});
      text += fmt::format("{}{:.0f} cosines are right in {:.1f} %, as many {} units in {:.1f} %",
                          text.empty() ? "" : "; ", other.points[i].first, cosines.points[i].second,
                          other.name, other.points[i].second);
    }
    out.decided.push_back(decide(claim, rows, text));
  };
  compare(kFourier, drawn);
  compare(kFourierLearned, learned);
  return out;
}

const ExperimentRegistrar registrar({"features",
                                     "Spirals by a hidden layer that stays as it was drawn, or learns",
                                     run,
                                     nullptr,
                                     {kLearned, kFourier, kFourierLearned}});

}  // namespace
}  // namespace klab::learning::features_experiment
