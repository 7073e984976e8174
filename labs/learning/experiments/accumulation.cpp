// The gradient of a batch against the mean of the gradients of its halves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"
#include "labs/learning/network/normalization.h"

namespace klab::learning {
namespace {

std::unique_ptr<Network> net(bool norm) {
  auto n = std::make_unique<Network>(Dims{784});
  n->add<Linear>("linear1", int64_t{64});
  if (norm) n->add<BatchNorm>("norm");
  n->add<Activation>("relu", activation::relu).add<Linear>("linear2", int64_t{10});
  return n;
}

std::vector<float> gradient_of(Learner& l) {
  std::vector<float> all;
  for (const Tensor& t : l.network().parameters().tensors())
    all.insert(all.end(), t.gradient, t.gradient + t.size());
  return all;
}

/// Largest difference of the two gradients over the root mean square of the first.
double difference(bool norm, uint64_t seed) {
  constexpr int64_t n = 128;
  const Examples all = make_glyphs(n, seed);
  const Examples halves[] = {part_of(all, 0, n / 2), part_of(all, n / 2, n / 2)};
  // As rows of numbers, which are taken as they are: images are normalized by the mean of their set, which differs by half.
  const auto bare = [](Examples e) {
    e.dims = {volume(e.dims)};
    return e;
  };
  const Examples whole_set = bare(all), first = bare(halves[0]), second = bare(halves[1]);
  const auto make = [&](const Examples& e) {
    return std::make_unique<Learner>(net(norm), e, e.count(), OptimizerSettings{}, seed);
  };
  const auto whole = make(whole_set), a = make(first), b = make(second);
  for (const auto& l : {whole.get(), a.get(), b.get()}) l->look();
  const auto g = gradient_of(*whole), ga = gradient_of(*a), gb = gradient_of(*b);
  double largest = 0;
  for (size_t i = 0; i < g.size(); ++i)
    largest = std::max(largest, std::abs(double(g[i]) - (double(ga[i]) + double(gb[i])) / 2));
  return largest / rms(g.data(), int64_t(g.size()));
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"network", "largest difference over the rms of the gradient"}};
  const double plain = difference(false, seed), normalized = difference(true, seed);
  out.rows = {{"without normalization", fmt::format("{:.1e}", plain)},
              {"with BatchNorm", fmt::format("{:.1e}", normalized)}};
  out.finding = plain < 1e-4 && normalized < 1e-4 ? Finding::held
                : plain < 1e-4                    ? Finding::depends
                                                  : Finding::refuted;
  out.because = fmt::format(
      "apart by {:.1e} of the gradient's size without a normalization over the batch, which is rounding; by "
      "{:.1e} with "
      "one, whose statistics are then those of half a batch. Sizes of gradients are the same: accumulation "
      "has no "
      "part in whether they vanish",
      plain, normalized);
  return out;
}

const ExperimentRegistrar registrar(
    {"accumulation", "Gradients accumulated over two half batches are those of the whole batch", run});

}  // namespace
}  // namespace klab::learning
