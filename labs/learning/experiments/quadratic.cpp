// Newton's step, momentum with and without correction, and Nesterov's, on a quadratic with a known minimum.
#include <fmt/format.h>

#include <cmath>

#include "harness/core/registry.h"
#include "labs/learning/experiments/experiment.h"
#include "reference/momentum/momentum.h"
#include "reference/nesterov/nesterov.h"
#include "reference/sgd/sgd.h"

namespace klab::learning::quadratic_experiment {
namespace {

const Claim kNewton{.id = "quadratic.newton",
                    .said = "Newton solves a quadratic in one step",
                    .source = "course",
                    .metric = "what is left after one step, over the beginning",
                    .rule = at_most(1e-10),
                    .kind = ClaimKind::exact};
const Claim kSlow{.id = "quadratic.correction",
                  .said = "momentum without correction starts slowly",
                  .source = "course",
                  .metric = "way of the first step without correction over that with it",
                  .rule = at_most(0.5),
                  .kind = ClaimKind::exact};
const Claim kHelps{.id = "quadratic.nesterov",
                   .said = "Nesterov's step helps",
                   .source = "course",
                   .metric = "what is left after 200 steps, over that with momentum, each at its best rate",
                   .rule = at_most(1),
                   .kind = ClaimKind::exact};

constexpr int kSize = 32, kSteps = 200;

/// The function 1/2 sum h_i x_i², with curvatures h from 1 to 100.
struct Quadratic {
  float h[kSize];
  Quadratic() {
    for (int i = 0; i < kSize; ++i) h[i] = std::pow(100.0F, float(i) / (kSize - 1));
  }
  double value(const float* x) const {
    double sum = 0;
    for (int i = 0; i < kSize; ++i) sum += 0.5 * double(h[i]) * double(x[i]) * double(x[i]);
    return sum;
  }
  void gradient(const float* x, float* g) const {
    for (int i = 0; i < kSize; ++i) g[i] = h[i] * x[i];
  }
};

struct Descent {
  double rate;
  Curve curve;
  double after(size_t steps) const { return curve.points.at(steps).second; }
};

template <class Contract>
Descent descend(const std::string& name, bool corrected, double rate) {
  const Quadratic f;
  float x[kSize], g[kSize], m[kSize] = {};
  const float hyper[] = {float(rate), 0.9F, 0.99F, 1e-8F, 0};
  int32_t steps = 0;
  std::fill_n(x, kSize, 1.0F);
  Curve curve{name, {{0, f.value(x)}}};
  for (int s = 1; s <= kSteps; ++s) {
    f.gradient(x, g);
    typename Contract::template Args<float> args{};
    args.shape.n = kSize;
    args.shape.tensors = 1;
    args.hyper = hyper;
    args.gradient = g;
    args.param = x;
    if constexpr (requires { args.m; }) args.m = m;
    if constexpr (requires { args.steps; }) args.steps = &steps;
    if constexpr (requires { args.shape.corrected; }) args.shape.corrected = corrected;
    call<Contract>(*variants_of(std::string(Contract::name), "cpu").front(), args);
    // Too large a rate ends in infinity. The axis has limits at both ends.
    const double value = f.value(x);
    curve.points.emplace_back(s, std::isfinite(value) ? std::clamp(value, 1e-12, 1e12) : 1e12);
  }
  return {rate, curve};
}

/// Returns the descent that is lowest after all steps, over rates a factor of 2^(1/4) apart.
template <class Contract>
Descent best(const std::string& name, bool corrected) {
  Descent lowest = descend<Contract>(name, corrected, 1e-3);
  for (double rate = 1e-3; rate < 2; rate *= std::pow(2, 0.25))
    if (Descent d = descend<Contract>(name, corrected, rate); d.after(kSteps) < lowest.after(kSteps))
      lowest = d;
  return lowest;
}

/// Takes one step of Newton's method: the gradient divided by the curvatures.
double newton() {
  const Quadratic f;
  float x[kSize], g[kSize];
  std::fill_n(x, kSize, 1.0F);
  f.gradient(x, g);
  for (int i = 0; i < kSize; ++i) x[i] -= g[i] / f.h[i];
  return f.value(x);
}

Outcome run(uint64_t) {
  Outcome out{.heads = {"method", "rate", "after 1 step", "after 10", "after 200"},
              .x = "step",
              .y = "value above the least",
              .log_y = true};
  constexpr double small = 0.01;  // all of these methods are stable at this rate from the first step
  const Descent sgd = best<Sgd>("sgd, its best rate", false),
                momentum = best<Momentum>("momentum, its best rate", false),
                nesterov = best<Nesterov>("nesterov, its best rate", false),
                slow = descend<Momentum>("momentum, small rate", false, small),
                corrected = descend<Momentum>("momentum, corrected, small rate", true, small);
  for (const Descent* d : {&sgd, &momentum, &nesterov, &slow, &corrected}) {
    out.curves.push_back(d->curve);
    out.rows.push_back({d->curve.name, fmt::format("{:.3g}", d->rate), fmt::format("{:.3g}", d->after(1)),
                        fmt::format("{:.3g}", d->after(10)), fmt::format("{:.3g}", d->after(kSteps))});
  }
  const double solved = newton(), first = sgd.after(0);
  out.rows.push_back({"newton", "", fmt::format("{:.3g}", solved), "", ""});
  const double way = first - slow.after(1), way_corrected = first - corrected.after(1);
  out.decided = {
      decide(kNewton, solved / first, fmt::format("from {:.0f} to {:.1e} in one step", first, solved)),
      decide(kSlow, way / way_corrected,
             fmt::format(
                 "at the same rate, {}, the first step takes {:.1f} off {:.0f} without and {:.1f} with it; "
                 "after 10 steps they are at {:.1f} and {:.1f}",
                 small, way, first, way_corrected, slow.after(10), corrected.after(10))),
      decide(
          kHelps, nesterov.after(kSteps) / momentum.after(kSteps),
          fmt::format("each at the rate that is best for it, {:.1e} is left of {:.0f} after {} steps, {:.1e} "
                      "with momentum, {:.1e} along the gradient alone",
                      nesterov.after(kSteps), first, kSteps, momentum.after(kSteps), sgd.after(kSteps)))};
  return out;
}

const ExperimentRegistrar registrar({"quadratic",
                                     "A quadratic with curvatures from 1 to 100: Newton, momentum with and "
                                     "without correction, Nesterov",
                                     run,
                                     nullptr,
                                     {kNewton, kSlow, kHelps}});

}  // namespace
}  // namespace klab::learning::quadratic_experiment
