// Experiment sampling: which pixels, and which points along their rays, a step should train on. Compares by
// equal samples and by equal time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "labs/radiance/claims/small_runs.h"
#include "labs/radiance/evaluate/frequency_renderer.h"
#include "labs/radiance/train/frequency_trainer.h"

namespace klab::learning::sampling_claim {
namespace {

const Claim kGridSamples{.id = "sampling.occupancy_samples",
                         .said =
                             "samples where an occupancy grid says that something is are worth more than as "
                             "many all along the ray",
                         .source = "plan",
                         .metric = "dB gained by the grid",
                         .rule = at_least(0)};
const Claim kGridTime{.id = "sampling.occupancy_time",
                      .said = "an occupancy grid is worth its time",
                      .source = "plan",
                      .metric = "dB gained by the grid in equal processor time",
                      .rule = at_least(0),
                      .kind = ClaimKind::timed};
const Claim kErrorSamples{.id = "sampling.error_samples",
                          .said = "pixels drawn by their error are better than as many drawn uniformly",
                          .source = "plan",
                          .metric = "dB gained by drawing by error",
                          .rule = at_least(0)};
const Claim kErrorTime{.id = "sampling.error_time",
                       .said = "drawing pixels by their error is worth its time",
                       .source = "plan",
                       .metric = "dB gained by drawing by error in equal processor time",
                       .rule = at_least(0),
                       .kind = ClaimKind::timed};
const Claim kStrata{.id = "sampling.stratified",
                    .said = "stratified samples along a ray are better than uniform ones",
                    .source = "plan",
                    .metric = "dB gained, mean of two trainings",
                    .rule = at_least(0)};
const Claim kBatch{.id = "sampling.batch",
                   .said = "4096 rays of 128 samples each are the right batch",
                   .source = "plan",
                   .metric = "samples of such a step over those of the field's recipe",
                   .rule = between(0.5, 2),
                   .kind = ClaimKind::exact,
                   .on = "the field"};

constexpr int64_t kSteps = 400;

/// Returns the small recipe with a grid that finds empty space early in a short training.
Config small_recipe() {
  Config c = small_hash_config();
  c.grid_every = 8;
  c.grid_warmup = 64;
  return c;
}

struct Trained {
  double psnr = 0, samples_per_ray = 0;
  RunLength used;
};

Trained train(const Config& config, uint64_t seed, double seconds = 0) {
  Trainer trainer(small_built_in_scene(), config, small_hash_plan(config), seed);
  Trained t;
  t.used = train_for(trainer, {.most = kSteps, .seconds = seconds});
  const StepReport last = trainer.loss_and_gradient();
  t.samples_per_ray = double(last.samples) / double(std::max<int64_t>(1, last.rays));
  t.psnr = small_psnr(trainer.averaged());
  return t;
}

/// Returns a recipe without empty cells and early stops: samples along the whole ray.
Config everywhere() {
  Config c = small_recipe();
  c.grid_threshold = 0;
  c.early_stop = 0;
  return c;
}

Config by_error() {
  Config c = small_recipe();
  c.sampling = "error";
  return c;
}

void row(Outcome& out, const std::string& name, const Trained& t) {
  out.rows.push_back({name, fmt::format("{}", t.used.most), fmt::format("{:.2f}", t.used.seconds),
                      t.samples_per_ray > 0 ? fmt::format("{:.1f}", t.samples_per_ray) : "",
                      db_text(t.psnr)});
}

/// Tests the claim that `config` is better than `base`, by equal samples and by equal time.
void against(Outcome& out, const Trained& base, const std::string& name, const Claim& of_steps,
             const Claim& of_time, const Config& config, double noise, uint64_t seed, bool base_is_better) {
  const Trained steps = train(config, seed), time = train(config, seed, base.used.seconds);
  row(out, name + ", as many samples", steps);
  row(out, name + ", as much time", time);
  const double sign = base_is_better ? -1 : 1;
  out.decided.push_back(
      decide(of_steps, sign * (steps.psnr - base.psnr),
             fmt::format(
                 "{} of the recipe's, {:.1f} samples a ray; {}: {} with as many samples, {:.1f} a ray; twice "
                 "what another seed makes is {:.2f} dB",
                 db_text(base.psnr), base.samples_per_ray, name, db_text(steps.psnr), steps.samples_per_ray,
                 noise)));
  out.decided.push_back(decide(of_time, sign * (time.psnr - base.psnr),
                               fmt::format("{} of the recipe's; {}: {} in as much processor time; twice what "
                                           "another seed makes is {:.2f} dB",
                                           db_text(base.psnr), name, db_text(time.psnr), noise)));
}

FrequencyConfig small_classic(const std::string& samples) {
  FrequencyConfig c;
  c.octaves = 6;
  c.direction_octaves = 2;
  c.width = 32;
  c.depth = 4;
  c.skip = 2;
  c.rays = 128;
  c.coarse = 16;
  c.fine = 16;
  c.chunk = 4096;
  c.learning_rate = 5e-3;
  c.samples = samples;
  return c;
}

double train_classic(const std::string& samples, uint64_t seed) {
  constexpr int64_t kClassicSteps = 250;
  const FrequencyConfig c = small_classic(samples);
  const Plan plan = untimed_plan(frequency_calls(c, true));
  FrequencyTrainer trainer(small_built_in_scene(), c, plan, seed);
  train_for(trainer, {.most = kClassicSteps});
  FrequencyRenderer renderer(trainer.model(), plan);
  return evaluate([&](const Camera& camera) { return renderer.render(camera); }, false,
                  small_built_in_scene().test)
      .psnr;
}

// For the classic field: a random sample in each stratum of a ray, or its middle.
void strata(Outcome& out, uint64_t seed) {
  double random = 0, middle = 0, spread = 0;
  const double first = train_classic("stratified", seed);
  for (uint64_t k = 0; k < 2; ++k) {
    const double r = k == 0 ? first : train_classic("stratified", seed + k);
    spread = std::max(spread, 2 * std::abs(r - first));
    random += 0.5 * r;
    middle += 0.5 * train_classic("uniform", seed + k);
  }
  const double noise = std::max(0.05, spread);
  out.rows.push_back({"classic field, stratified", "250", "", "32.0", db_text(random)});
  out.rows.push_back({"classic field, uniform", "250", "", "32.0", db_text(middle)});
  out.decided.push_back(
      decide(kStrata, random - middle,
             fmt::format("{} at random within the strata, {} in their middle, 32 samples a ray, two "
                         "seeds each; twice what another seed makes is {:.2f} dB",
                         db_text(random), db_text(middle), noise)));
}

// Measures the paper's network and samples with a 64th of its rays, and extrapolates the rest.
Decided rays_and_samples(Outcome& out, uint64_t seed) {
  constexpr int64_t kAll = 4096, kTried = 64;
  FrequencyConfig paper;
  paper.rays = kTried;
  paper.coarse = paper.fine = 64;
  FrequencyTrainer trainer(small_built_in_scene(), paper, untimed_plan(frequency_calls(paper, true)), seed);
  train_for(trainer, {.most = 1});  // touches the memory for the first time
  const double seconds = train_for(trainer, {.most = 1}).seconds * double(kAll) / double(kTried);
  const Config hash;
  out.rows.push_back(
      {"classic field, a step of 4096 rays", "1", fmt::format("{:.0f}", seconds), "128.0", ""});
  const FrequencyConfig classic;
  const double all = double(kAll) * 128,
               of_classic = double(classic.rays) * double(classic.coarse + classic.coarse + classic.fine);
  return decide(kBatch, {{"classic", {all / of_classic}}, {"hash", {all / double(hash.batch_samples)}}},
                fmt::format("{} samples; the classic field's recipe evaluates {:.0f} in a step, the hash "
                            "field's {}, which lets the number of rays follow",
                            kAll * 128, of_classic, hash.batch_samples));
}

Outcome run(uint64_t seed) {
  const OneThread one;
  Outcome out;
  out.heads = {"samples", "steps", "processor s", "a ray", "PSNR"};
  const Trained base = train(small_recipe(), seed);
  row(out, "where the grid is occupied, pixels uniform", base);
  const double noise = std::max(0.05, 2 * std::abs(train(small_recipe(), seed + 1).psnr - base.psnr));
  against(out, base, "all along the ray", kGridSamples, kGridTime, everywhere(), noise, seed, true);
  against(out, base, "pixels by their error", kErrorSamples, kErrorTime, by_error(), noise, seed, false);
  strata(out, seed);
  out.decided.push_back(rays_and_samples(out, seed));
  return out;
}

const ExperimentRegistrar registrar({"sampling",
                                     "which pixels and which points along their rays a step learns from",
                                     run,
                                     nullptr,
                                     {kGridSamples, kGridTime, kErrorSamples, kErrorTime, kStrata, kBatch}});

}  // namespace
}  // namespace klab::learning::sampling_claim
