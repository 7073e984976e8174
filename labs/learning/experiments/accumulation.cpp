// Compares the gradient of a batch with the mean of the gradients of its parts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"
#include "labs/learning/network/normalization.h"

namespace klab::learning::accumulation_experiment {
namespace {

const Claim kSameGradient{.id = "accumulation.same_gradient",
                          .said = "gradients accumulated over two half batches are those of the whole batch",
                          .source = "course",
                          .metric = "largest difference over the rms of the gradient",
                          .rule = at_most(1e-4),
                          .on = "a normalization over the batch"};
const Claim kVanishing{
    .id = "accumulation.vanishing",
    .said = "accumulation prevents vanishing gradients",
    .source = "plan",
    .metric = "size of a gradient accumulated over two halves, over that of the whole batch",
    .rule = at_least(2)};

constexpr int64_t kBatch = 128;

std::unique_ptr<Network> net(bool norm) {
  auto n = std::make_unique<Network>(Dims{784});
  n->add<Linear>("linear1", int64_t{64});
  if (norm) n->add<BatchNorm>("norm");
  n->add<Activation>("relu", activation::relu).add<Linear>("linear2", int64_t{10});
  return n;
}

/// Returns a deep network with an initialization whose gradients vanish on their way back.
std::unique_ptr<Network> vanishing() {
  auto n = std::make_unique<Network>(Dims{784});
  for (int i = 0; i < 20; ++i)
    n->add<Linear>(fmt::format("linear{}", i), int64_t{64})
        .add<Activation>(fmt::format("relu{}", i), activation::relu);
  n->add<Linear>("output", int64_t{10});
  return n;
}

/// Returns the gradient of all parameters, averaged over the parts of the batch. `times` is the argument of
/// Learner::draw(); 0 keeps the layers' own initialization.
std::vector<double> accumulated(std::unique_ptr<Network> (*make)(bool), bool norm, double times,
                                const Examples& all, int64_t parts, uint64_t seed) {
  std::vector<double> sum;
  for (int64_t p = 0; p < parts; ++p) {
    Examples part = part_of(all, p * kBatch / parts, kBatch / parts);
    // Pass the examples as plain numbers, which are not normalized: images are normalized by the mean of
    // their set.
    part.dims = {volume(part.dims)};
    Learner learner(make(norm), part, part.count(), OptimizerSettings{}, seed);
    if (times > 0) learner.draw(times, seed);
    learner.find_gradient();
    size_t at = 0;
    for (const Tensor& t : learner.network().parameters().tensors())
      for (int64_t i = 0; i < t.size(); ++i, ++at) {
        if (at == sum.size()) sum.push_back(0);
        sum[at] += double(t.gradient[i]) / double(parts);
      }
  }
  return sum;
}

double size_of(const std::vector<double>& g) {
  double squares = 0;
  for (const double v : g) squares += v * v;
  return std::sqrt(squares / double(g.size()));
}

/// Returns the largest difference of two gradients relative to the root mean square of the first.
double difference(const std::vector<double>& whole, const std::vector<double>& summed) {
  double largest = 0;
  for (size_t i = 0; i < whole.size(); ++i) largest = std::max(largest, std::abs(whole[i] - summed[i]));
  return largest / size_of(whole);
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"parts", "without normalization", "with BatchNorm"},
              .x = "parts of the batch",
              .y = "largest difference over the rms of the gradient",
              .log_y = true};
  const Examples all = make_glyphs(kBatch, seed);
  const auto plain = accumulated(net, false, 0, all, 1, seed),
             normed = accumulated(net, true, 0, all, 1, seed);
  Curve without{"without normalization", {}}, with{"with BatchNorm", {}};
  for (const int64_t parts : {2, 4, 8}) {
    without.points.emplace_back(parts, difference(plain, accumulated(net, false, 0, all, parts, seed)));
    with.points.emplace_back(parts, difference(normed, accumulated(net, true, 0, all, parts, seed)));
    out.rows.push_back({std::to_string(parts), fmt::format("{:.1e}", without.points.back().second),
                        fmt::format("{:.1e}", with.points.back().second)});
  }
  const auto deep = [](bool) { return vanishing(); };
  const double whole = size_of(accumulated(deep, false, 1, all, 1, seed)),
               summed = size_of(accumulated(deep, false, 1, all, 2, seed)),
               good = size_of(accumulated(deep, false, 2, all, 1, seed));
  const double apart = without.points.front().second, apart_norm = with.points.front().second;
  out.decided = {
      decide(kSameGradient, {{"without one", {apart}}, {"with BatchNorm", {apart_norm}}},
             fmt::format("apart by {:.1e} of the gradient's size without a normalization over the batch, "
                         "which is rounding; by {:.1e} with one, whose statistics are then those of half "
                         "a batch",
                         apart, apart_norm)),
      decide(kVanishing, summed / whole,
             fmt::format("20 layers that begin with 1/n have gradients of {:.1e} in one batch and {:.1e} "
                         "accumulated over two halves; with 2/n they have {:.1e}",
                         whole, summed, good))};
  out.curves = {without, with};
  return out;
}

const ExperimentRegistrar registrar({"accumulation",
                                     "The gradient of a batch, and the mean of the gradients of its parts",
                                     run,
                                     nullptr,
                                     {kSameGradient, kVanishing}});

}  // namespace
}  // namespace klab::learning::accumulation_experiment
