// Batch normalization with batch statistics at test time, on batches unlike those of training.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"
#include "labs/learning/network/normalization.h"

namespace klab::learning::batch_statistics_experiment {
namespace {

const Claim kBreaks{
    .id = "batch_statistics.one_class",
    .said =
        "batch normalization by batch statistics at test time breaks where batches are not like "
        "those of training",
    .source = "course",
    .metric = "percentage points lost by statistics of the batch, on batches of one class",
    .rule = at_least(10)};

std::unique_ptr<Network> normalized() {
  auto net = std::make_unique<Network>(Dims{1, 28, 28});
  net->add<Linear>("linear1", int64_t{128}).add<BatchNorm>("norm").add<Activation>("relu", activation::relu);
  net->add<Linear>("linear2", int64_t{10});
  return net;
}

/// Returns the examples sorted into groups of `together` classes.
Examples in_groups(const Examples& e, int32_t together) {
  std::vector<size_t> order(e.labels.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return e.labels[i] / together; });
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
  Outcome out{.heads = {"classes in a test batch", "running statistics", "statistics of the batch"},
              .x = "classes in a test batch",
              .y = "right in the test, %"};
  const Examples train = make_glyphs(3000, seed), test = make_glyphs(1000, seed + 1);
  Learner learner(normalized(), train, 50, {.rate = 2e-3}, seed);
  learner.train(400);
  const std::vector<int32_t> groups = {1, 2, 5, 10};
  Curve running{"running statistics", {}}, own{"statistics of the batch", {}};
  for (const int32_t k : groups) running.points.emplace_back(k, 100 * learner.accuracy(in_groups(test, k)));
  // Using batch statistics changes the running ones, so these come last.
  for (const int32_t k : groups) own.points.emplace_back(k, 100 * learner.accuracy(in_groups(test, k), true));
  for (size_t i = 0; i < groups.size(); ++i)
    out.rows.push_back({std::to_string(groups[i]), percent_text(running.points[i].second / 100),
                        percent_text(own.points[i].second / 100)});
  const double alone = running.points.front().second, alone_own = own.points.front().second;
  out.decided = {
      decide(kBreaks, alone - alone_own,
             fmt::format("batches of one class: {:.1f} % right by running statistics, {:.1f} % by their "
                         "own; batches of all classes: {:.1f} % and {:.1f} %",
                         alone, alone_own, running.points.back().second, own.points.back().second))};
  out.curves = {running, own};
  return out;
}

const ExperimentRegistrar registrar({"batch_statistics",
                                     "Batch normalization at test time, by statistics of the batch and by "
                                     "running ones, where batches hold few classes",
                                     run,
                                     nullptr,
                                     {kBreaks}});

}  // namespace
}  // namespace klab::learning::batch_statistics_experiment
