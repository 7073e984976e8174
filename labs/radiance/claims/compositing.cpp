// Experiment compositing: tests claims about kernels of the sum along rays, each by comparing a rung with the
// one that it changes. Compares processor times on rays of about 32 samples; for CUDA kernels, counts on the
// host executor.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "harness/simt/host_bind.h"
#include "harness/simt/profile.h"
#include "harness/simt/session.h"
#include "labs/radiance/claims/small_runs.h"
#include "reference/composite_fwd/composite_fwd.h"

namespace klab::learning::compositing_claim {
namespace {

const Claim kAlpha{
    .id = "compositing.alpha_first",
    .said = "transparencies computed beforehand, in lanes, make the sum 1.5 to 2 times as fast",
    .source = "post",
    .metric = "processor time of composite_fwd.cpu.01_serial over that of 02_alpha_first",
    .rule = at_least(1.5),
    .kind = ClaimKind::timed};
const Claim kScan{.id = "compositing.scan",
                  .said = "a scan (wavefront) along the ray makes the sum 2 to 3 times as fast",
                  .source = "post",
                  .metric = "processor time of composite_fwd.cpu.02_alpha_first over that of 03_vector_scan",
                  .rule = at_least(2),
                  .kind = ClaimKind::timed};
const Claim kExponential{
    .id = "compositing.exponentials",
    .said =
        "fast exponentials or sums of logarithms make it 1.2 to 1.5 times as fast, a little less accurate",
    .source = "post",
    .metric = "processor time of composite_fwd.cpu.03_vector_scan over that of 04_log_space",
    .rule = at_least(1.2),
    .kind = ClaimKind::timed};
const Claim kFour{.id = "compositing.four",
                  .said = "taking four together helps",
                  .source = "post",
                  .metric = "processor time of composite_fwd.cpu.04_log_space over that of 05_four_sums",
                  .rule = at_least(1.03),
                  .kind = ClaimKind::timed};
const Claim kTraffic{.id = "compositing.traffic",
                     .said = "accumulating in shared memory moves fewer sectors of global memory",
                     .source = "post",
                     .metric = "sectors over those of a product by each thread, counted for 256 rays",
                     .rule = at_most(0.99),
                     .kind = ClaimKind::exact,
                     .on = "where the scan lies"};

constexpr int64_t kRays = 4096, kSamples = 32 * kRays;
constexpr int kRounds = 9;

/// A batch of rays, and room for the results.
struct Rays {
  Rays(int64_t rays, int64_t samples, uint64_t seed)
      : shape{rays, samples},
        begin(size_t(rays + 1)),
        raw(size_t(samples)),
        rgb(size_t(3 * samples)),
        delta(size_t(samples), 1.0F / 384),
        t(size_t(samples)),
        background(size_t(3 * rays), 1.0F),
        color(size_t(3 * rays)),
        opacity(size_t(rays)),
        depth(size_t(rays)) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> unit;
    // Draws lengths between zero and twice the mean.
    for (int64_t r = 0; r < rays; ++r) {
      const int64_t left = samples - begin[size_t(r)], mean = samples / rays;
      begin[size_t(r + 1)] =
          begin[size_t(r)] + int32_t(std::min<int64_t>(left, int64_t(random() % uint64_t(2 * mean + 1))));
    }
    begin.back() = int32_t(samples);
    for (float& v : raw) v = 4 * unit(random);
    for (float& v : rgb) v = unit(random);
    for (size_t i = 0; i < t.size(); ++i) t[i] = float(i % 64) / 64;
  }
  CompositeFwd::Args<float> args() {
    return {shape,    begin.data(),      raw.data(),   rgb.data(),     delta.data(),
            t.data(), background.data(), color.data(), opacity.data(), depth.data()};
  }
  /// In the contract's order.
  std::vector<void*> pointers() {
    return {begin.data(),      raw.data(),   rgb.data(),     delta.data(), t.data(),
            background.data(), color.data(), opacity.data(), depth.data()};
  }

  CompositeFwd::Shape shape;
  std::vector<int32_t> begin;
  std::vector<float> raw, rgb, delta, t, background, color, opacity, depth;
};

const Variant& rung(const std::string& name) {
  const Variant* v = find_variant("composite_fwd." + name);
  if (v == nullptr) throw std::logic_error("no rung composite_fwd." + name);
  return *v;
}

/// How many times as fast `rung` is as `than`, and the largest difference of their colors.
struct Race {
  double ratio = 0, difference = 0;
};
Race race(Outcome& out, const std::string& faster, const std::string& than, uint64_t seed) {
  Rays one(kRays, kSamples, seed), two(kRays, kSamples, seed);
  const std::vector<double> s = least_seconds({[&] { call<CompositeFwd>(rung(faster), one.args()); },
                                               [&] { call<CompositeFwd>(rung(than), two.args()); }},
                                              kRounds);
  Race r{.ratio = s[1] / s[0]};
  for (size_t i = 0; i < one.color.size(); ++i)
    r.difference = std::max(r.difference, double(std::abs(one.color[i] - two.color[i])));
  out.rows.push_back(
      {faster + " over " + than, fmt::format("{:.2f}", r.ratio), fmt::format("{:.1e}", r.difference)});
  return r;
}

std::string race_text(const Race& r, const std::string& what) {
  return fmt::format("{} {:.2f} times as fast as the rung before, colors at most {:.1e} apart", what, r.ratio,
                     r.difference);
}

/// Traffic of a CUDA rung, watched on the host executor.
struct Moved {
  int64_t sectors = 0, shared = 0, barriers = 0;
};
Moved moved(const std::string& name, uint64_t seed) {
  Rays rays(256, 32 * 256, seed);
  simt::Session session({.traced = true});
  simt::host_bind(rung(name).id, std::vector<int64_t>{rays.shape.rays, rays.shape.samples},
                  rays.pointers())();
  Moved m;
  for (const simt::Site& site : session.profile().sites())
    (site.space == simt::Space::shared ? m.shared : m.sectors) +=
        site.space == simt::Space::shared ? site.counts.wavefronts : site.counts.sectors;
  for (const simt::LaunchRecord& l : session.profile().launches)
    m.barriers += l.barriers * l.times * l.grid[0] * l.grid[1] * l.grid[2];
  return m;
}

std::string moved_text(const Moved& m) {
  return fmt::format("{} sectors, {} wavefronts of shared memory, {} barriers", m.sectors, m.shared,
                     m.barriers);
}

void on_a_gpu(Outcome& out, uint64_t seed) {
  const Moved block = moved("cuda.02_alpha_first", seed), shared = moved("cuda.03_shared_scan", seed),
              warp = moved("cuda.04_warp_scan", seed);
  const auto over_block = [&](const Moved& m) { return double(m.sectors) / double(block.sectors); };
  out.decided.push_back(decide(kTraffic,
                               {{"shared memory", {over_block(shared)}}, {"registers", {over_block(warp)}}},
                               fmt::format("a product by each thread {}; a scan in shared memory {}; one in "
                                           "registers {}",
                                           moved_text(block), moved_text(shared), moved_text(warp))));
}

Outcome run(uint64_t seed) {
  const OneThread one;
  Outcome out;
  out.heads = {"rungs", "ratio", "colors apart"};
  const Race alpha = race(out, "cpu.02_alpha_first", "cpu.01_serial", seed),
             scan = race(out, "cpu.03_vector_scan", "cpu.02_alpha_first", seed),
             logs = race(out, "cpu.04_log_space", "cpu.03_vector_scan", seed),
             unrolled = race(out, "cpu.05_four_sums", "cpu.04_log_space", seed);
  out.decided.push_back(
      decide(kAlpha, alpha.ratio, race_text(alpha, "exponentials first, in vector lanes:")));
  out.decided.push_back(
      decide(kScan, scan.ratio, race_text(scan, "a scan over vector lanes, all else as it was:")));
  out.decided.push_back(
      decide(kExponential, logs.ratio, race_text(logs, "optical depths added up, one exponential for two:")));
  out.decided.push_back(
      decide(kFour, unrolled.ratio, race_text(unrolled, "the four sums of a ray reduced together:")));
  on_a_gpu(out, seed);
  return out;
}

const ExperimentRegistrar registrar({"compositing",
                                     "claims about kernels of the sum along rays",
                                     run,
                                     nullptr,
                                     {kAlpha, kScan, kExponential, kFour, kTraffic}});

}  // namespace
}  // namespace klab::learning::compositing_claim
