// Batch normalization by the statistics of the batch, at test time, where a batch is not like those of training.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"
#include "labs/learning/network/normalization.h"

namespace klab::learning {
namespace {

std::unique_ptr<Network> normalized() {
  auto net = std::make_unique<Network>(Dims{1, 28, 28});
  net->add<Linear>("linear1", int64_t{128}).add<BatchNorm>("norm").add<Activation>("relu", activation::relu);
  net->add<Linear>("linear2", int64_t{10});
  return net;
}

/// The same examples, those of a class behind each other.
Examples by_class(const Examples& e) {
  std::vector<size_t> order(e.labels.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return e.labels[i]; });
  Examples sorted{.dims = e.dims, .classes = e.classes, .values = {}, .labels = {}};
  const auto size = std::ptrdiff_t(volume(e.dims));
  for (const size_t i : order) {
    sorted.labels.push_back(e.labels[i]);
    sorted.values.insert(sorted.values.end(), e.values.begin() + std::ptrdiff_t(i) * size,
                         e.values.begin() + std::ptrdiff_t(i + 1) * size);
  }
  return sorted;
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"test batches", "running statistics", "statistics of the batch"}};
  const Examples train = make_glyphs(3000, seed), test = make_glyphs(1000, seed + 1), sorted = by_class(test);
  Learner learner(normalized(), train, 50, {.rate = 2e-3}, seed);
  learner.train(400);
  const double mixed = learner.accuracy(test), alone = learner.accuracy(sorted);
  // Taking batch statistics moves the running ones, so this comes last.
  const double mixed_batch = learner.accuracy(test, true), alone_batch = learner.accuracy(sorted, true);
  const auto percent = [](double v) { return fmt::format("{:.1f} %", 100 * v); };
  out.rows = {{"mixed, as in training", percent(mixed), percent(mixed_batch)},
              {"one class each", percent(alone), percent(alone_batch)}};
  out.finding = alone_batch < alone - 0.1 ? Finding::held : Finding::refuted;
  out.because =
      fmt::format("batches of one class: {} by running statistics, {} by their own; mixed batches: {} and {}",
                  percent(alone), percent(alone_batch), percent(mixed), percent(mixed_batch));
  return out;
}

const ExperimentRegistrar registrar({"batch_statistics",
                                     "Batch normalization by batch statistics at test time breaks where "
                                     "batches are not like those of training",
                                     run});

}  // namespace
}  // namespace klab::learning
