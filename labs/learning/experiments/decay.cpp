// L2 decay: its effect on a step, and the meaning of the size of weights before a normalization.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/registry.h"
#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/elementwise.h"
#include "labs/learning/network/linear.h"
#include "labs/learning/network/normalization.h"
#include "reference/adam/adam.h"
#include "reference/adamw/adamw.h"
#include "reference/sgd/sgd.h"

namespace klab::learning::decay_experiment {
namespace {

const Claim kShrinks{.id = "decay.shrinks",
                     .said = "L2 shrinks weights by the factor 1 − rate·decay in a step",
                     .source = "course",
                     .metric = "largest deviation of a step, over rate·decay·|weight|",
                     .rule = at_most(1e-3),
                     .on = "the optimizer"};
const Claim kComplexity{
    .id = "decay.complexity",
    .said = "the size of weights is a doubtful measure of complexity behind a normalization",
    .source = "course",
    .metric = "change of the accuracy where a layer's parameters are ten times as large",
    .rule = at_most(0.005)};

constexpr int64_t kEntries = 1000;
constexpr float kRate = 0.1F, kDecay = 0.2F;

/// Returns the parameters after one step with the decay, for gradients of sizes from 1e-3 to 1e3.
template <class Contract>
std::vector<float> stepped(float decay, uint64_t seed) {
  std::vector<float> p(kEntries), g(kEntries), m(kEntries), v(kEntries);
  const Draws draws(seed, 0, 340);
  for (size_t i = 0; i < p.size(); ++i) {
    p[i] = 2 * draws.unit(2 * i) - 1;
    g[i] = std::pow(10.0F, 6 * draws.unit(2 * i + 1) - 3);
  }
  const float hyper[] = {kRate, 0.9F, 0.999F, 1e-8F, decay};
  int32_t steps = 0;
  typename Contract::template Args<float> args{};
  args.shape.n = kEntries;
  args.hyper = hyper;
  args.gradient = g.data();
  args.param = p.data();
  if constexpr (requires { args.shape.tensors; }) args.shape.tensors = 1;
  if constexpr (requires { args.shape.group; }) args.shape.group = kEntries;
  if constexpr (requires { args.m; }) args.m = m.data(), args.v = v.data();
  if constexpr (requires { args.steps; }) args.steps = &steps;
  call<Contract>(*variants_of(std::string(Contract::name), "cpu").front(), args);
  return p;
}

/// Returns the largest deviation of a step with decay from a step without decay minus rate·decay·p, relative
/// to rate·decay·|p|.
template <class Contract>
double from_shrinking(uint64_t seed) {
  const std::vector<float> with = stepped<Contract>(kDecay, seed), without = stepped<Contract>(0, seed);
  const Draws draws(seed, 0, 340);
  double worst = 0;
  for (size_t i = 0; i < with.size(); ++i) {
    const double p = double(2 * draws.unit(2 * i) - 1), shrink = double(kRate) * double(kDecay) * p;
    const double rounding = 0x1p-22 * (std::abs(p) + std::abs(double(without[i])));
    const double off = std::abs(double(without[i]) - double(with[i]) - shrink);
    worst = std::max(worst, std::max(0.0, off - rounding) / std::abs(shrink));
  }
  return worst;
}

Decided shrinking(uint64_t seed) {
  const double sgd = from_shrinking<Sgd>(seed), adamw = from_shrinking<Adamw>(seed),
               adam = from_shrinking<Adam>(seed);
  return decide(
      kShrinks, {{"sgd", {sgd}}, {"adamw", {adamw}}, {"adam", {adam}}},
      fmt::format("beyond rounding, a step with decay is off that by at most {:.1e} of the shrinking for "
                  "sgd and {:.1e} for adamw; for adam, which divides the term by the gradient's size, by "
                  "{:.1e}",
                  sgd, adamw, adam));
}

std::unique_ptr<Network> net(bool norms) {
  auto n = std::make_unique<Network>(Dims{1, 28, 28});
  n->add<Linear>("linear1", int64_t{100});
  if (norms) n->add<LayerNorm>("norm");
  n->add<Activation>("relu", activation::relu).add<Linear>("output", int64_t{10});
  return n;
}

double first_weights(Learner& learner) {
  const Tensor& t = learner.network().parameters().tensors().front();
  return rms(t.value, t.size());
}

/// Compares a network before and after its first layer's parameters are multiplied by ten.
Decided scaled(Learner& plain, Learner& normalized, const Examples& test) {
  double right[2][2];
  Learner* of[] = {&plain, &normalized};
  for (int k = 0; k < 2; ++k) {
    right[k][0] = of[k]->accuracy(test);
    for (const Tensor& t : of[k]->network().parameters().tensors())
      if (t.name.starts_with("linear1"))
        for (int64_t i = 0; i < t.size(); ++i) t.value[i] *= 10;
    right[k][1] = of[k]->accuracy(test);
  }
  return decide(
      kComplexity, std::abs(right[1][1] - right[1][0]),
      fmt::format("all of a layer's parameters times 10, their squares times 100: {} right before and {} "
                  "after with a LayerNorm behind it, {} and {} without",
                  percent_text(right[1][0]), percent_text(right[1][1]), percent_text(right[0][0]),
                  percent_text(right[0][1])));
}

Outcome run(uint64_t seed) {
  Outcome out{
      .heads = {"network", "decay (adamw)", "rms of the first weights", "right in training", "in the test"},
      .x = "decay",
      .y = "rms of the first layer's weights",
      .log_x = true,
      .log_y = true};
  const Examples train = make_glyphs(1000, seed), test = make_glyphs(1000, seed + 1);
  std::unique_ptr<Learner> least[2];
  for (const int norms : {0, 1}) {
    Curve curve{norms != 0 ? "with LayerNorm" : "plain", {}};
    for (const double decay : {0.01, 0.1, 1.0, 10.0}) {
      auto learner = std::make_unique<Learner>(net(norms != 0), train, 50,
                                               OptimizerSettings{.rate = 2e-3, .decay = decay}, seed);
      learner->train(400);
      const double size = first_weights(*learner);
      curve.points.emplace_back(decay, size);
      out.rows.push_back({curve.name, fmt::format("{}", decay), fmt::format("{:.4f}", size),
                          percent_text(learner->accuracy(train)), percent_text(learner->accuracy(test))});
      if (decay == 0.01) least[norms] = std::move(learner);
    }
    out.curves.push_back(curve);
  }
  out.decided = {shrinking(seed), scaled(*least[0], *least[1], test)};
  return out;
}

const ExperimentRegistrar registrar({"decay",
                                     "L2 and decoupled decay, plain and in front of a normalization",
                                     run,
                                     nullptr,
                                     {kShrinks, kComplexity}});

}  // namespace
}  // namespace klab::learning::decay_experiment
