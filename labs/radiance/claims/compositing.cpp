// Experiment compositing: tests claims about kernels of the sum along rays, each by comparing a rung with the
// one that it changes. Compares processor times on rays of about 32 samples; for CUDA kernels, counts on the
// host executor. The rungs of a ladder change more than a claim names, so each claim also has a rung that changes
// that one thing; the accuracy of these is compared too, in errors of colors and in dB of a trained field.
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
#include "reference/composite_fwd/ray.h"

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

/// A claim about the one thing in which a rung differs from another.
Claim alone(const std::string& name, const std::string& said, double least, const std::string& faster,
            const std::string& slower) {
  return {.id = "compositing." + name,
          .said = said,
          .source = "post",
          .metric = "processor time of composite_fwd." + slower + " over that of " + faster.substr(4),
          .rule = at_least(least),
          .kind = ClaimKind::timed};
}

/// A claim of that kind, with its rungs.
struct Single {
  Claim claim;
  const char *faster, *slower, *what;
};
const std::vector<Single>& singles() {
  static const std::vector<Single> list = [] {
    const auto single = [](const char* name, const char* said, double least, const char* faster,
                           const char* slower, const char* what) {
      return Single{alone(name, said, least, faster, slower), faster, slower, what};
    };
    return std::vector<Single>{
        single("only_alpha_first",
               "transparencies computed beforehand make the sum 1.5 to 2 times as fast, with nothing else "
               "changed",
               1.5, "cpu.13_alpha_ahead", "cpu.01_serial",
               "transparencies of a piece first, by the same exponential:"),
        single("only_exponential",
               "a fast exponential makes the sum 1.2 to 1.5 times as fast, with nothing else changed", 1.2,
               "cpu.12_fast_exponential", "cpu.01_serial", "klab's exponential in place of the library's:"),
        single("only_log_space",
               "sums of logarithms make the sum 1.2 to 1.5 times as fast, with nothing else changed", 1.2,
               "cpu.16_log_sum", "cpu.01_serial", "a sum of optical depths in place of the product:"),
        single("only_scan",
               "a scan (wavefront) makes the sum 2 to 3 times as fast, with nothing else changed", 2,
               "cpu.14_scan_alone", "cpu.02_alpha_first", "a scan in place of the product, sums as before:"),
        single("only_unrolled", "unrolling by four helps, with nothing else changed", 1.03, "cpu.15_unrolled",
               "cpu.01_serial", "the loop unrolled by four:")};
  }();
  return list;
}
const Claim kStaged{
    .id = "compositing.staged",
    .said =
        "samples staged in shared memory, with nothing else changed, move fewer sectors of global "
        "memory",
    .source = "post",
    .metric = "sectors of composite_fwd.cuda.09_staged_samples over those of 01_serial, 256 rays",
    .rule = at_most(0.99),
    .kind = ClaimKind::exact};
const Claim kErrors{.id = "compositing.errors",
                    .said = "fast exponentials and sums of logarithms are slightly less accurate",
                    .source = "post",
                    .metric = "largest error of a color over that of composite_fwd.cpu.01_serial",
                    .rule = between(1, 4),
                    .on = "which of them"};
const Claim kVisible{.id = "compositing.visible",
                     .said = "fast exponentials and sums of logarithms cost nothing visible",
                     .source = "post",
                     .metric = "dB lost by pictures of a trained field",
                     .rule = at_most(0.1),
                     .on = "which of them"};

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

/// Returns the largest distance of a rung's colors from those of the reference in double, in units of 2^-24.
double largest_error(const std::string& name, uint64_t seed) {
  Rays x(kRays, kSamples, seed);
  call<CompositeFwd>(rung(name), x.args());
  double largest = 0;
  for (size_t r = 0; r < size_t(kRays); ++r) {
    const auto first = size_t(x.begin[r]), n = size_t(x.begin[r + 1]) - first;
    const std::vector<double> raw(x.raw.begin() + int64_t(first), x.raw.begin() + int64_t(first + n)),
        delta(x.delta.begin() + int64_t(first), x.delta.begin() + int64_t(first + n));
    const TracedRay ray = trace(raw.data(), delta.data(), int64_t(n));
    for (size_t c = 0; c < 3; ++c) {
      double color = ray.T[n] * double(x.background[c * size_t(kRays) + r]);
      for (size_t i = 0; i < n; ++i) color += ray.weight[i] * double(x.rgb[c * size_t(kSamples) + first + i]);
      largest = std::max(largest, std::abs(double(x.color[c * size_t(kRays) + r]) - color));
    }
  }
  return largest * 0x1p24;
}

constexpr const char* kFewerInstructions[][2] = {{"a fast exponential", "cpu.12_fast_exponential"},
                                                 {"sums of logarithms", "cpu.16_log_sum"}};

void accuracy(Outcome& out, uint64_t seed) {
  const double serial = largest_error("cpu.01_serial", seed);
  std::vector<ClaimRow> rows;
  std::string text = fmt::format("the serial loop errs by {:.1f} units of 2^-24 at most", serial);
  for (const auto& [what, name] : kFewerInstructions) {
    const double error = largest_error(name, seed);
    rows.push_back({what, {error / serial}});
    text += fmt::format(", {} by {:.1f}", what, error);
  }
  out.decided.push_back(decide(kErrors, rows, text));
}

void visible(Outcome& out, uint64_t seed) {
  const Config config = small_hash_config();
  Trainer trainer(small_built_in_scene(), config, small_hash_plan(config), seed);
  train_for(trainer, {.most = 300});
  const auto psnr_by = [&](const std::string& name) {
    Plan plan = small_hash_plan(config);
    if (!plan.contains("composite_fwd")) throw std::logic_error("pictures do not call composite_fwd");
    plan.choose("composite_fwd", {.variant = &rung(name), .why = "compared"});
    return evaluate(trainer.model(), plan, small_built_in_scene().test).psnr;
  };
  const double serial = psnr_by("cpu.01_serial");
  std::vector<ClaimRow> rows;
  std::string text = fmt::format("{} by the serial loop, of pictures with 8 bits a channel", db_text(serial));
  for (const auto& [what, name] : kFewerInstructions) {
    const double lost = serial - psnr_by(name);
    rows.push_back({what, {lost}});
    text += fmt::format(", {} loses {:.1e} dB", what, lost);
  }
  out.decided.push_back(decide(kVisible, rows, text));
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
  const Moved serial = moved("cuda.01_serial", seed), staged = moved("cuda.09_staged_samples", seed);
  out.decided.push_back(decide(
      kStaged, double(staged.sectors) / double(serial.sectors),
      fmt::format("a thread a ray {}; with staged samples {}", moved_text(serial), moved_text(staged))));
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
  for (const Single& s : singles()) {
    const Race r = race(out, s.faster, s.slower, seed);
    out.decided.push_back(decide(s.claim, r.ratio, race_text(r, s.what)));
  }
  accuracy(out, seed);
  visible(out, seed);
  on_a_gpu(out, seed);
  return out;
}

std::vector<Claim> all_of_them() {
  std::vector<Claim> list = {kAlpha, kScan, kExponential, kFour, kTraffic, kStaged, kErrors, kVisible};
  for (const Single& s : singles()) list.push_back(s.claim);
  return list;
}

const ExperimentRegistrar registrar({"compositing", "claims about kernels of the sum along rays", run,
                                     nullptr, all_of_them()});

}  // namespace
}  // namespace klab::learning::compositing_claim
