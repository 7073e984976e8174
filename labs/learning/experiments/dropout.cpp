// The effect of dropout on the mean and the variance of its input.
#include <fmt/format.h>

#include <cmath>

#include "harness/core/registry.h"
#include "harness/program/random.h"
#include "labs/learning/experiments/experiment.h"
#include "reference/dropout_fwd/dropout_fwd.h"

namespace klab::learning::dropout_experiment {
namespace {

const Claim kMoments{.id = "dropout.moments",
                     .said = "dropout scaled by 1/(1-p) keeps the mean and raises the variance",
                     .source = "course",
                     .metric = "largest distance from the predicted mean and variance, relative",
                     .rule = at_most(0.02)};

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"p", "mean in", "mean out", "variance in", "variance out", "predicted"},
              .x = "p",
              .y = "variance out over in"};
  constexpr int64_t n = 1 << 20;
  Array<float> x(n), y(n);
  const Draws draws(seed, 0, 330);
  for (int64_t i = 0; i < n; ++i) x[i] = 1 + 2 * draws.unit(uint64_t(i));
  const auto moments = [](const Array<float>& v) {
    double sum = 0, squares = 0;
    for (const float a : v) sum += double(a), squares += double(a) * double(a);
    const double mean = sum / double(n);
    return std::pair(mean, squares / double(n) - mean * mean);
  };
  const auto [mean, variance] = moments(x);
  const uint32_t key[2] = {uint32_t(seed), 0}, offset[2] = {0, 0};
  Curve measured{"measured", {}}, predicted{"predicted", {}};
  double worst = 0;
  for (const float p : {0.1F, 0.2F, 0.5F, 0.8F}) {
    call<DropoutFwd>(*variants_of("dropout_fwd", "cpu").front(), {{n}, x.data(), &p, key, offset, y.data()});
    const auto [mean_out, variance_out] = moments(y);
    // E[y²] = E[x²]/(1-p): the variance grows by E[x²]·p/(1-p).
    const double expected = variance + (variance + mean * mean) * double(p) / (1 - double(p));
    measured.points.emplace_back(double(p), variance_out / variance);
    predicted.points.emplace_back(double(p), expected / variance);
    worst = std::max({worst, std::abs(mean_out / mean - 1), std::abs(variance_out / expected - 1)});
    out.rows.push_back({fmt::format("{:.1f}", p), fmt::format("{:.4f}", mean),
                        fmt::format("{:.4f}", mean_out), fmt::format("{:.4f}", variance),
                        fmt::format("{:.4f}", variance_out), fmt::format("{:.4f}", expected)});
  }
  out.curves = {measured, predicted};
  out.decided = {
      decide(kMoments, worst,
             fmt::format("means and variances are within {:.2f} % of E[x] and Var[x] + E[x²]·p/(1-p)",
                         100 * worst))};
  return out;
}

const ExperimentRegistrar registrar(
    {"dropout", "Mean and variance of what passes through dropout", run, nullptr, {kMoments}});

}  // namespace
}  // namespace klab::learning::dropout_experiment
