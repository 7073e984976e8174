// The effect of dropout on the mean and the variance of its input.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

const Claim kSamples{
    .id = "dropout.samples",
    .said = "dropout samples networks of fewer features, and the pass without it is their mean",
    .source = "course",
    .metric =
        "largest distance of the mean over 4096 masks from the pass without, over the deviation "
        "of a mask",
    .rule = at_most(0.1),
    .on = "what follows"};

/// Passes features through dropout and a linear layer with many masks, and compares the mean with the pass without dropout; behind a
/// function, too, with which a mean does not commute.
Decided samples(uint64_t seed) {
  constexpr int64_t kFeatures = 256, kOutputs = 64;
  constexpr uint32_t kMasks = 4096;
  const Draws draws(seed, 0, 331);
  Array<float> x(kFeatures), y(kFeatures), w(kOutputs * kFeatures);
  for (int64_t i = 0; i < kFeatures; ++i) x[i] = draws.unit(uint64_t(i));
  for (int64_t i = 0; i < kOutputs * kFeatures; ++i)
    w[i] = (draws.unit(uint64_t(kFeatures + i)) - 0.5F) * std::sqrt(48.0F / float(kFeatures));
  const auto outputs = [&](const Array<float>& from) {
    std::vector<double> z(size_t(kOutputs), 0);
    for (int64_t j = 0; j < kOutputs; ++j)
      for (int64_t i = 0; i < kFeatures; ++i) z[size_t(j)] += double(w[j * kFeatures + i]) * double(from[i]);
    return z;
  };
  const std::pair<const char*, double (*)(double)> functions[] = {
      {"a linear layer", [](double z) { return z; }},
      {"a linear layer and tanh", [](double z) { return std::tanh(z); }}};
  std::vector<double> sum[2], squares[2];
  for (int f = 0; f < 2; ++f) sum[f].resize(size_t(kOutputs)), squares[f].resize(size_t(kOutputs));
  const float p = 0.5F;
  const uint32_t key[2] = {uint32_t(seed), 1};
  for (uint32_t mask = 0; mask < kMasks; ++mask) {
    const uint32_t offset[2] = {mask, 0};
    call<DropoutFwd>(*variants_of("dropout_fwd", "cpu").front(),
                     {{kFeatures}, x.data(), &p, key, offset, y.data()});
    const std::vector<double> z = outputs(y);
    for (size_t f = 0; f < 2; ++f)
      for (size_t j = 0; j < z.size(); ++j) {
        const double v = functions[f].second(z[j]);
        sum[f][j] += v, squares[f][j] += v * v;
      }
  }
  const std::vector<double> without = outputs(x);
  std::vector<ClaimRow> rows;
  std::string text;
  for (size_t f = 0; f < 2; ++f) {
    double worst = 0;
    for (size_t j = 0; j < without.size(); ++j) {
      const double mean = sum[f][j] / kMasks, deviation = std::sqrt(squares[f][j] / kMasks - mean * mean);
      worst = std::max(worst, std::abs(mean - functions[f].second(without[j])) / deviation);
    }
    rows.push_back({functions[f].first, {worst}});
    text += fmt::format("{}behind {} the mean of {} masks is {:.3f} deviations of a mask away at most",
                        text.empty() ? "" : "; ", functions[f].first, kMasks, worst);
  }
  return decide(kSamples, rows, text);
}

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
                         100 * worst)),
      samples(seed)};
  return out;
}

const ExperimentRegistrar registrar(
    {"dropout", "Mean and variance of what passes through dropout", run, nullptr, {kMoments, kSamples}});

}  // namespace
}  // namespace klab::learning::dropout_experiment
