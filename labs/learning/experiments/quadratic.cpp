// Newton's step, momentum with and without correction, and Nesterov's, on a quadratic whose answer is known.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "harness/core/registry.h"
#include "labs/learning/experiments/experiment.h"
#include "reference/momentum/momentum.h"
#include "reference/nesterov/nesterov.h"
#include "reference/sgd/sgd.h"

namespace klab::learning {
namespace {

constexpr int kSize = 32, kSteps = 200;

/// 1/2 sum h_i x_i², curvatures h from 1 to 100.
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

template <class Contract>
Curve descend(const std::string& name, bool corrected, float rate) {
  const Quadratic f;
  float x[kSize], g[kSize], m[kSize] = {};
  const float hyper[] = {rate, 0.9F, 0.99F, 1e-8F, 0};
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
    curve.points.emplace_back(s, std::max(1e-12, f.value(x)));
  }
  return curve;
}

/// One step of Newton's method: the gradient divided by the curvatures.
double newton() {
  const Quadratic f;
  float x[kSize], g[kSize];
  std::fill_n(x, kSize, 1.0F);
  f.gradient(x, g);
  for (int i = 0; i < kSize; ++i) x[i] -= g[i] / f.h[i];
  return f.value(x);
}

Outcome run(uint64_t) {
  Outcome out{.heads = {"method", "after 1 step", "after 10", "after 200"},
              .x = "step",
              .y = "value above the least",
              .log_y = true};
  // The largest rate that curvature 100 leaves stable is 0.02 for the gradient itself; averaged gradients bear more.
  out.curves = {descend<Sgd>("sgd", false, 0.018F), descend<Momentum>("momentum", false, 0.18F),
                descend<Momentum>("momentum, corrected", true, 0.18F),
                descend<Nesterov>("nesterov", false, 0.18F)};
  std::map<std::string, std::vector<double>> at;
  for (const Curve& c : out.curves) {
    at[c.name] = {c.points[1].second, c.points[10].second, c.points.back().second};
    out.rows.push_back({c.name, fmt::format("{:.3g}", at[c.name][0]), fmt::format("{:.3g}", at[c.name][1]),
                        fmt::format("{:.3g}", at[c.name][2])});
  }
  const double solved = newton(), first = out.curves[0].points[0].second;
  out.rows.push_back({"newton", fmt::format("{:.3g}", solved), "", ""});
  const bool newton_one = solved <= 1e-10 * first,
             slow = at["momentum"][0] > at["momentum, corrected"][0] || at["momentum"][0] > 0.5 * first;
  const bool helps = at["nesterov"][2] < at["momentum"][2];
  out.finding = newton_one && slow && helps ? Finding::held
                : newton_one                ? Finding::depends
                                            : Finding::refuted;
  out.because = fmt::format(
      "Newton is at {:.1e} of the start after one step; after 200 steps momentum is at {:.1e}, Nesterov's at "
      "{:.1e}, "
      "the gradient alone at {:.1e}; after one step uncorrected momentum is at {:.0f} of {:.0f}, corrected "
      "at {:.0f}",
      solved / first, at["momentum"][2], at["nesterov"][2], at["sgd"][2], at["momentum"][0], first,
      at["momentum, corrected"][0]);
  return out;
}

const ExperimentRegistrar registrar({"quadratic",
                                     "Newton solves a quadratic in one step; momentum without correction "
                                     "starts slowly; Nesterov's step helps",
                                     run});

}  // namespace
}  // namespace klab::learning
