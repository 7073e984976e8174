// Gradients of a radiance field during training, by power of two, and the formats whose range they leave.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/experiments/small_field.h"

namespace klab::learning::gradient_ranges_experiment {
namespace {

const Claim kVanish{.id = "gradient_ranges.vanish",
                    .said = "gradients vanish in half precision unless the loss is scaled",
                    .source = "paper",
                    .metric = "share that becomes 0, in the tensor that loses most",
                    .rule = at_least(0.05),
                    .on = "what is counted"};
const Claim kOverflow{.id = "gradient_ranges.scale",
                      .said = "a loss scale of 65536 does not overflow",
                      .source = "plan",
                      .metric = "largest gradient times 65536, over the largest half",
                      .rule = at_most(1)};

constexpr int64_t kSteps = 200;
constexpr int kLeast = -60, kMost = 8;  // binades shown

struct Gradients {
  std::string name;
  std::vector<float> values;  // nonzero ones
};

std::vector<Gradients> gradients(uint64_t seed) {
  const SmallField field(seed);
  const auto trainer = field.trained(kSteps);
  trainer->loss_and_gradient();
  std::vector<Gradients> all;
  for (const char* name :
       {"d_rgb", "d_raw", "d_color input", "d_features", "d_color", "d_density", "d_table"})
    all.push_back({name, trainer->tensor(name)});
  for (Gradients& g : all) std::erase(g.values, 0.0F);
  return all;
}

/// The part that becomes 0: as a fraction of the numbers, and of the sum of their sizes.
struct Vanished {
  double numbers = 0, sum = 0;
};

Vanished vanished(const NarrowFormat& f, double scale, const std::vector<float>& values) {
  Vanished v;
  double all = 0;
  for (const float g : values) {
    const double size = std::fabs(double(g));
    all += size;
    if (decode(f, encode(f, size * scale)) != 0) continue;
    v.numbers += 1 / double(values.size());
    v.sum += size;
  }
  v.sum /= std::max(all, 1e-300);
  return v;
}

Curve histogram(const Gradients& g) {
  Curve curve{g.name, {}};
  std::array<int64_t, kMost - kLeast> count{};
  // Values outside the plotted range count at its edge.
  for (const float v : g.values) ++count[size_t(std::clamp(std::ilogb(v), kLeast, kMost - 1) - kLeast)];
  for (int b = kLeast; b < kMost; ++b)
    if (count[size_t(b - kLeast)] > 0)
      curve.points.emplace_back(b + 0.5, double(count[size_t(b - kLeast)]) / double(g.values.size()));
  return curve;
}

/// Marks the smallest number of a format by a line at the left end of the histograms.
Curve border(const NarrowFormat& f) {
  const double at = std::log2(decode(f, 1));
  return {fmt::format("smallest {}", f.name), {{at, 1e-4}, {at, 1}}};
}

Outcome run(uint64_t seed) {
  Outcome out{.heads = {"gradient of", "numbers", "median", "largest", "0 as f16", "of their sum",
                        "scaled: 0 as f16", "as e5m2", "0 as bf16"},
              .x = "log2 of a gradient",
              .y = "share of gradients that are not 0",
              .log_y = true};
  double worst = 0, worst_sum = 0, worst_scaled = 0, brain = 0, biggest = 0;
  for (Gradients& g : gradients(seed)) {
    out.curves.push_back(histogram(g));
    std::ranges::sort(g.values, {}, [](float v) { return std::fabs(v); });
    if (g.values.empty()) continue;
    const Vanished half = vanished(kF16, 1, g.values), scaled = vanished(kF16, 65536, g.values),
                   eight = vanished(kE5m2, 65536, g.values), upper = vanished(kBf16, 1, g.values);
    worst = std::max(worst, half.numbers);
    worst_sum = std::max(worst_sum, half.sum);
    worst_scaled = std::max(worst_scaled, scaled.sum);
    brain = std::max(brain, upper.numbers);
    biggest = std::max(biggest, std::fabs(double(g.values.back())));
    out.rows.push_back({g.name.substr(2), std::to_string(g.values.size()),
                        fmt::format("{:.1e}", std::fabs(g.values[g.values.size() / 2])),
                        fmt::format("{:.1e}", std::fabs(g.values.back())), percent_text(half.numbers),
                        fmt::format("{:.3f} %", 100 * half.sum), percent_text(scaled.numbers),
                        percent_text(eight.numbers), percent_text(upper.numbers)});
  }
  for (const NarrowFormat* f : {&kF16, &kE5m2, &kE4m3}) out.curves.push_back(border(*f));
  out.decided = {
      decide(
          kVanish, {{"of the numbers", {worst}}, {"of the sum of their sizes", {worst_sum}}},
          fmt::format("of the tensor that loses most {} of the numbers become 0, but {:.3f} % of the sum of "
                      "their sizes at most: what "
                      "vanishes is what is small anyway, until the loss is; with the loss times 65536 it is "
                      "{:.5f} %. As bfloat16s "
                      "{} of the numbers vanish",
                      percent_text(worst), 100 * worst_sum, 100 * worst_scaled, percent_text(brain))),
      decide(kOverflow, biggest * 65536 / 65504,
             fmt::format("the largest gradient is {:.1e}: there is room for 2^{:.0f}", biggest,
                         std::floor(std::log2(65504 / biggest))))};
  return out;
}

const ExperimentRegistrar registrar(
    {"gradient_ranges",
     "The gradients of a radiance field that learns, against the ranges of formats",
     run,
     nullptr,
     {kVanish, kOverflow}});

}  // namespace
}  // namespace klab::learning::gradient_ranges_experiment
