// Formats with few bits: the spacing of their numbers, and which of a training's gradients they can
// represent.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "labs/learning/experiments/experiment.h"
#include "labs/learning/network/models.h"
#include "reference/formats.h"

namespace klab::learning::formats_experiment {
namespace {

const Claim kRange{.id = "formats.half_range",
                   .said = "half precision reaches from 5.96e-8 to 65504",
                   .source = "plan",
                   .metric = "largest distance of the format's ends from these, relative",
                   .rule = at_most(1e-3),
                   .kind = ClaimKind::exact};

constexpr int kLeast = -40, kMost = 18;  // binades shown

/// Plots the relative distance of a number to the next, over the logarithm of its size.
Curve spacing(const NarrowFormat& f) {
  Curve curve{std::string(f.name), {}};
  for (int eighth = 8 * kLeast; eighth < 8 * kMost; ++eighth) {
    const double size = std::exp2(eighth / 8.0);
    const uint32_t bits = encode(f, size);
    if (bits == 0 || bits >= f.largest) continue;
    curve.points.emplace_back(eighth / 8.0, (decode(f, bits + 1) - decode(f, bits)) / size);
  }
  return curve;
}

/// Returns the gradients of all parameters and activations in a network that has learned for a while.
std::vector<float> gradients(uint64_t seed, const std::string& network) {
  const Examples glyphs = make_glyphs(640, seed);
  Learner learner(make_model(network, glyphs.dims, glyphs.classes), glyphs, 64, OptimizerSettings{}, seed);
  learner.train(100);
  learner.find_gradient();
  std::vector<float> all;
  for (const Tensor& t : learner.network().parameters().tensors())
    all.insert(all.end(), t.gradient, t.gradient + t.size());
  for (size_t i = 1; i < learner.network().modules().size(); ++i) {
    const std::span<float> g = learner.network().gradients(i);
    all.insert(all.end(), g.begin(), g.end());
  }
  std::erase(all, 0.0F);
  return all;
}

Outcome run_network(uint64_t seed, const std::string& network) {
  Outcome out{.heads = {"format", "bits", "largest", "smallest normal", "smallest", "relative step",
                        "gradients to zero", "with the loss times 65536"},
              .x = "log2 of a number",
              .y = "relative step; share of gradients",
              .log_y = true};
  const std::vector<float> all = gradients(seed, network);
  const auto to_zero = [&](const NarrowFormat& f, double scale) {
    const auto lost =
        std::ranges::count_if(all, [&](float g) { return decode(f, encode(f, double(g) * scale)) == 0; });
    return fmt::format("{:.2f} %", 100 * double(lost) / double(std::max<size_t>(1, all.size())));
  };
  for (const NarrowFormat& f : kNarrowFormats) {
    out.rows.push_back({std::string(f.name), std::to_string(f.bits),
                        fmt::format("{:.3g}", decode(f, f.largest)),
                        fmt::format("{:.3g}", std::exp2(f.min_exponent)), fmt::format("{:.3g}", decode(f, 1)),
                        fmt::format("{:.3g}", std::exp2(1 - f.digits)), to_zero(f, 1), to_zero(f, 65536)});
    out.curves.push_back(spacing(f));
  }
  Curve histogram{"gradients in a binade", {}};
  std::array<int64_t, kMost - kLeast> count{};
  for (const float g : all) {
    const int binade = std::ilogb(g);
    if (binade >= kLeast && binade < kMost) ++count[size_t(binade - kLeast)];
  }
  for (int b = kLeast; b < kMost; ++b)
    if (count[size_t(b - kLeast)] > 0)
      histogram.points.emplace_back(b + 0.5, double(count[size_t(b - kLeast)]) / double(all.size()));
  out.curves.push_back(histogram);
  const double largest = decode(kF16, kF16.largest), smallest = decode(kF16, 1);
  out.decided = {
      decide(kRange, std::max(std::abs(largest / 65504 - 1), std::abs(smallest / 5.96e-8 - 1)),
             fmt::format(
                 "{:.3g} is the smallest half and {} the largest; below {:.3g} halves lose digits. Among the "
                 "gradients of the network {} after 100 steps, {} become 0 as halves, and {} where "
                 "the loss was multiplied by 65536",
                 smallest, largest, 0x1p-14, network, to_zero(kF16, 1), to_zero(kF16, 65536)))};
  return out;
}

Outcome run(uint64_t seed) { return run_network(seed, "mlp"); }

const ExperimentRegistrar registrar(
    {"formats", "The formats of few bits, and which gradients they can hold", run, run_network, {kRange}});

}  // namespace
}  // namespace klab::learning::formats_experiment
