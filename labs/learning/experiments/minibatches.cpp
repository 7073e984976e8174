// Experiment minibatches: does the noise of small batches help a network with examples that it has not seen?
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/models.h"

namespace klab::learning::minibatches_experiment {
namespace {

constexpr int64_t kExamples = 2048;
constexpr std::array<int64_t, 4> kBatches = {16, 128, 1024, kExamples};
constexpr int64_t kEpochs = 15, kSteps = 240;
constexpr size_t kSeeds = 5;
constexpr const char* kNetwork = "32, 10";

const Claim kNoise{
    .id = "minibatches.noise",
    .said = "the noise of small batches helps to generalize",
    .source = "course",
    .metric = "percentage points of test examples right by batches of 16 over those by all examples at once",
    .rule = at_least(0.5),
    .on = "what is equal"};
const Claim kGap{.id = "minibatches.gap",
                 .said = "small batches leave a smaller gap between training and test",
                 .source = "course",
                 .metric = "gap of batches of 16 minus that of all examples at once, percentage points",
                 .rule = at_most(0),
                 .on = "what is equal"};

struct Accuracy {
  double train = 0, test = 0;
  double gap() const { return train - test; }
};

Accuracy trained(int64_t batch, int64_t steps, const Examples& train, const Examples& test, uint64_t seed) {
  Learner learner(make_model(kNetwork, train.dims, train.classes), train, batch, {.rate = 2e-3, .decay = 0},
                  seed);
  learner.train(steps);
  return {100 * learner.accuracy(train), 100 * learner.accuracy(test)};
}

/// Accuracies by batch size, one per seed.
using BySize = std::map<int64_t, std::vector<Accuracy>>;

template <class F>
double mean(const std::vector<Accuracy>& list, F of) {
  double sum = 0;
  for (const Accuracy& a : list) sum += of(a);
  return sum / double(list.size());
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"batch", "equal", "steps", "training", "test"},
              .x = "examples in a batch",
              .y = "right in the test, %",
              .log_x = true};
  const std::pair<const char*, bool> kinds[] = {{"equal samples", true}, {"equal steps", false}};
  std::vector<ClaimRow> noise, gap;
  std::string text;
  for (const auto& [what, samples] : kinds) {
    BySize by_size;
    for (size_t s = 0; s < kSeeds; ++s) {
      // Both sets hold a whole number of batches of every size.
      const Examples train = make_glyphs(kExamples, seed + s), test = make_glyphs(kExamples, seed + s + 100);
      for (const int64_t batch : kBatches)
        by_size[batch].push_back(
            trained(batch, samples ? kEpochs * kExamples / batch : kSteps, train, test, seed + s));
    }
    Curve curve{what, {}};
    for (const auto& [batch, list] : by_size) {
      const double test = mean(list, [](const Accuracy& a) { return a.test; });
      curve.points.emplace_back(batch, test);
      out.rows.push_back({std::to_string(batch), what,
                          std::to_string(samples ? kEpochs * kExamples / batch : kSteps),
                          fmt::format("{:.1f} %", mean(list, [](const Accuracy& a) { return a.train; })),
                          fmt::format("{:.1f} %", test)});
    }
    out.curves.push_back(curve);
    ClaimRow points{what, {}}, gaps{what, {}};
    for (size_t s = 0; s < kSeeds; ++s) {
      const Accuracy &small = by_size[kBatches.front()][s], &all = by_size[kExamples][s];
      points.values.push_back(small.test - all.test);
      gaps.values.push_back(small.gap() - all.gap());
    }
    noise.push_back(points), gap.push_back(gaps);
    text += fmt::format("{}at {} {:.1f} % are right by batches of {} and {:.1f} % by all {} at once",
                        text.empty() ? "" : "; ", what, curve.points.front().second, kBatches.front(),
                        curve.points.back().second, kExamples);
  }
  out.decided = {decide(kNoise, noise, text), decide(kGap, gap, text)};
  return out;
}

const ExperimentRegistrar registrar(
    {"minibatches",
     "Examples that a network has not seen, by the size of the batches it learned from",
     run,
     nullptr,
     {kNoise, kGap},
     int(kSeeds)});

}  // namespace
}  // namespace klab::learning::minibatches_experiment
