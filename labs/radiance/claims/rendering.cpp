// Experiment rendering: where rays may stop, what pictures cost compared to training, and a comparison of
// four kinds of field.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "labs/radiance/claims/small_runs.h"
#include "labs/radiance/evaluate/voxel_renderer.h"
#include "labs/radiance/splat/gaussian_field.h"
#include "labs/radiance/train/voxel_trainer.h"

namespace klab::learning::rendering_claim {
namespace {

const Claim kStop{
    .id = "rendering.early_stop",
    .said = "a ray that stops at a transmittance of 0.01 in place of 1e-4 costs nothing visible",
    .source = "post",
    .metric = "dB lost",
    .rule = at_most(0.1)};
const Claim kMemory{.id = "rendering.memory",
                    .said = "rendering needs less memory than training",
                    .source = "plan",
                    .metric = "bytes for pictures over bytes for training, with the recipe's sizes",
                    .rule = at_most(0.99),
                    .kind = ClaimKind::exact};
const Claim kRealTime{.id = "rendering.real_time",
                      .said = "rendering is real-time",
                      .source = "plan",
                      .metric = "seconds of one core for 800x800 pixels",
                      .rule = at_most(1.0 / 30),
                      .kind = ClaimKind::timed};
const Claim kIntegral{.id = "rendering.integral",
                      .said = "the sum along rays need not be fast, since other parts of a step matter more",
                      .source = "post",
                      .metric = "share of a step",
                      .rule = at_most(0.1),
                      .kind = ClaimKind::timed};
const Claim kFixed{
    .id = "rendering.samples",
    .said = "instant-ngp's field takes a fixed number of samples of a ray, Plenoxels an adaptive one",
    .source = "course",
    .metric = "samples of a ray in the last step of the hash field over those in the first",
    .rule = at_least(0.8)};
const Claim kSpan{.id = "rendering.span",
                  .said = "voxels take a wider span of memory than a hash field",
                  .source = "course",
                  .metric = "bytes of voxels over those of the hash field",
                  .rule = at_least(1)};
const Claim kComputation{.id = "rendering.computation",
                         .said = "voxels take less computation than a hash field",
                         .source = "course",
                         .metric = "processor time of a sample in training, voxels over hash field",
                         .rule = at_most(1),
                         .kind = ClaimKind::timed};
const Claim kFastest{.id = "rendering.splatting",
                     .said = "splatting is the fastest to render",
                     .source = "course",
                     .metric = "time of a picture over that of the fastest other field within 1 dB",
                     .rule = at_most(1),
                     .kind = ClaimKind::timed,
                     .on = "the size of the picture"};

constexpr int64_t kSteps = 1500;

/// PSNR of the test views, and processor seconds of one of them, enlarged and in its own size: the least of a
/// few rounds.
struct Pictures {
  double seconds = 0, small_seconds = 0, psnr = 0;
};

constexpr int kLarger = 8;    // factor on the views' edges: in small pictures fixed costs decide
constexpr double kAlike = 1;  // dB: pictures that may be compared by time alone

Camera small_camera() { return small_built_in_scene().test.front().camera; }

Camera larger_camera() {
  Camera camera = small_camera();
  camera.width *= kLarger, camera.height *= kLarger;
  for (float* v : {&camera.fx, &camera.fy, &camera.cx, &camera.cy}) *v *= kLarger;
  return camera;
}

Pictures pictures_by(const std::function<Picture(const Camera&)>& render) {
  const Camera large = larger_camera(), small = small_camera();
  const auto seconds = least_seconds({[&] { render(large); }, [&] { render(small); }}, 5);
  return {.seconds = seconds[0],
          .small_seconds = seconds[1],
          .psnr = evaluate(render, false, small_built_in_scene().test).psnr};
}

Pictures pictures_of(const Model& model) {
  Renderer renderer(model, small_hash_plan(model.config));
  return pictures_by([&](const Camera& camera) { return renderer.render(camera); });
}

// Compares a trained model's pictures with rays that stop earlier or later.
void early_stop(Outcome& out, Model& model) {
  std::vector<Pictures> p;
  std::string text;
  const std::vector<double> stops = {0, 1e-4, 1e-3, 1e-2};
  Curve curve{.name = "PSNR by the transmittance at which rays stop", .points = {}};
  for (const double stop : stops) {
    model.config.early_stop = stop;
    p.push_back(pictures_of(model));
    out.rows.push_back({stop > 0 ? fmt::format("hash, rays stop at {:g}", stop) : "hash, rays never stop", "",
                        fmt::format("{:.2f}", 1e3 * p.back().seconds), db_text(p.back().psnr)});
    text += fmt::format("{}{}: {:.3f} dB", text.empty() ? "" : "; ",
                        stop > 0 ? fmt::format("at {:g}", stop) : "never", p.back().psnr);
    if (stop > 0) curve.points.emplace_back(stop, p.back().psnr);
  }
  out.curves.push_back(curve);
  out.decided.push_back(
      decide(kStop, p[1].psnr - p[3].psnr, fmt::format("{}; visible would be {} dB", text, kStop.rule.most)));
  model.config.early_stop = Config().early_stop;
}

void memory(Outcome& out, const Pictures& p) {
  const Scene& scene = small_built_in_scene();
  const Config usual;
  const double training = double(Trainer::bytes_of(scene, usual)),
               rendering = double(Model::bytes_of(usual, scene.cascades) +
                                  Renderer::bytes_of(usual, Renderer::kRays));
  const Camera camera = larger_camera();
  const double pixels = double(camera.width) * camera.height;
  const double full = 800 * 800 / pixels * p.seconds;
  out.decided.push_back(
      decide(kMemory, rendering / training,
             fmt::format("with the recipe's sizes {:.0f} MB for pictures and {:.0f} MB for training",
                         1e-6 * rendering, 1e-6 * training)));
  out.decided.push_back(decide(
      kRealTime, full,
      fmt::format("{:.2f} ms of one core for {}x{} pixels of this experiment's small field, at that rate "
                  "{:.1f} s for 800x800",
                  1e3 * p.seconds, camera.width, camera.height, full)));
}

// At the recipe's own sizes: bounds how much a faster sum along rays could speed up the whole.
Decided integral(uint64_t seed) {
  Config c;
  Trainer trainer(small_built_in_scene(), c, small_hash_plan(c), seed);
  for (int i = 0; i < 20; ++i) trainer.step(0.1);
  trainer.profile().clear();
  for (int i = 0; i < 10; ++i) trainer.step(0.1);
  double sum = 0;
  for (const auto& [stage, seconds] : trainer.profile().seconds())
    if (stage.starts_with("composite")) sum += seconds;
  const double share = sum / trainer.profile().total(), gain = 1 / (1 - share + share / 3);
  return decide(
      kIntegral, share,
      fmt::format("it is {} of a step; three times as fast it would make the step {:.3f} times as fast",
                  percent_text(share), gain));
}

VoxelConfig small_voxel_config() {
  VoxelConfig c;
  c.first_grid = 16;
  c.grid = 64;
  c.batch_samples = 4096;
  c.first_rays = 64;
  return c;
}

/// Samples of a ray at the beginning and at the end of a training.
struct PerRay {
  double first = 0, last = 0;
};
PerRay per_ray(FieldTrainer& trainer) {
  PerRay p;
  for (int64_t i = 0; i < kSteps; ++i) {
    const StepReport r = trainer.step(double(i) / double(kSteps));
    const double each = double(r.samples) / double(std::max<int64_t>(1, r.rays));
    if (i == 0) p.first = each;
    p.last = each;
  }
  return p;
}

struct Held {
  std::string name;
  double step_ms = 0, bytes = 0;
  Pictures pictures;
};

void row(Outcome& out, const Held& h) {
  out.rows.push_back({h.name, fmt::format("{:.2f}", 1e-6 * h.bytes),
                      fmt::format("{:.2f}", 1e3 * h.pictures.seconds), db_text(h.pictures.psnr)});
}

Held as_voxels(VoxelTrainer& trainer, const Plan& plan, double seconds) {
  const VoxelModel& model = trainer.model();
  VoxelRenderer renderer(model, plan, backend_named("cpu"));
  return {"voxels", 1e3 * seconds / kSteps, double(model.bytes()),
          pictures_by([&](const Camera& camera) { return renderer.render(camera); })};
}

Held as_gaussians(uint64_t seed, double seconds) {
  GaussianConfig c;
  c.initial = 2000;
  c.most = 6000;
  const Plan plan = untimed_plan(gaussian_calls(c));
  GaussianTrainer trainer(small_built_in_scene(), c, plan, seed);
  const RunLength used = train_for(trainer, {.seconds = seconds});
  const GaussianModel model = trainer.model();
  Painter painter(plan);
  const float white[3] = {1, 1, 1};
  return {"gaussians", 1e3 * used.seconds / double(used.most), double(model.set.bytes()),
          pictures_by([&](const Camera& camera) {
            painter.draw(model.set, model.set.degree, camera, white);
            return painter.picture();
          })};
}

// Only pictures of about equal quality can be compared by time, and the fastest must win at both sizes.
Decided fastest(const Pictures& hash, const Pictures& voxels, const Pictures& gaussians) {
  // How many times as long as the fastest other field; 10 if the others are more than 1 dB better.
  const bool alike = gaussians.psnr > std::max(hash.psnr, voxels.psnr) - kAlike;
  const double large = alike ? gaussians.seconds / std::min(hash.seconds, voxels.seconds) : 10,
               small =
                   alike ? gaussians.small_seconds / std::min(hash.small_seconds, voxels.small_seconds) : 10;
  const Camera camera = small_camera();
  const auto text = [](const Pictures& p) {
    return fmt::format("{:.2f} and {:.2f} ms at {}", 1e3 * p.seconds, 1e3 * p.small_seconds, db_text(p.psnr));
  };
  return decide(
      kFastest, {{"large", {large}}, {"small", {small}}},
      fmt::format("one core, pictures of {}x{} and of {}x{}: Gaussians {}, the hash field {}, voxels {}",
                  kLarger * camera.width, kLarger * camera.height, camera.width, camera.height,
                  text(gaussians), text(hash), text(voxels)));
}

Outcome run(uint64_t seed) {
  const OneThread one;
  Outcome out;
  out.heads = {"held as", "MB", "ms a view", "PSNR"};
  out.x = "transmittance at which rays stop";
  out.y = "PSNR, dB";
  out.log_x = true;
  const Config config = small_hash_config();
  Trainer trainer(small_built_in_scene(), config, small_hash_plan(config), seed);
  double begin = processor_seconds();
  const PerRay hash_rays = per_ray(trainer);
  const double hash_seconds = processor_seconds() - begin;
  Model model = trainer.averaged();
  Held hash{"hash", 1e3 * hash_seconds / kSteps, double(Model::bytes_of(config, 1)), pictures_of(model)};
  early_stop(out, model);
  memory(out, hash.pictures);
  out.decided.push_back(integral(seed));

  const VoxelConfig voxel_config = small_voxel_config();
  const Plan voxel_plan = untimed_plan(voxel_calls(voxel_config, true));
  VoxelTrainer voxel_trainer(small_built_in_scene(), voxel_config, voxel_plan, seed);
  begin = processor_seconds();
  const PerRay voxel_rays = per_ray(voxel_trainer);
  const Held voxels = as_voxels(voxel_trainer, voxel_plan, processor_seconds() - begin),
             gaussians = as_gaussians(seed, hash_seconds);
  for (const Held* h : std::initializer_list<const Held*>{&hash, &voxels, &gaussians}) row(out, *h);
  out.decided.push_back(decide(
      kFixed, hash_rays.last / hash_rays.first,
      fmt::format("the hash field counted {:.1f} samples of a ray in its first step and {:.1f} in its last, "
                  "since its grid of "
                  "occupied cells says where; voxels {:.1f} and {:.1f}",
                  hash_rays.first, hash_rays.last, voxel_rays.first, voxel_rays.last)));
  out.decided.push_back(
      decide(kSpan, voxels.bytes / hash.bytes,
             fmt::format("voxels {:.1f} MB, the hash field {:.1f} MB; {} and {}", 1e-6 * voxels.bytes,
                         1e-6 * hash.bytes, db_text(voxels.pictures.psnr), db_text(hash.pictures.psnr))));
  const double voxel_sample = voxels.step_ms / double(voxel_config.batch_samples),
               hash_sample = hash.step_ms / double(config.batch_samples);
  out.decided.push_back(decide(
      kComputation, voxel_sample / hash_sample,
      fmt::format("voxels {:.2f} ms of one core for a step of {} samples, the hash field {:.2f} ms for {}",
                  voxels.step_ms, voxel_config.batch_samples, hash.step_ms, config.batch_samples)));
  out.decided.push_back(fastest(hash.pictures, voxels.pictures, gaussians.pictures));
  return out;
}

const ExperimentRegistrar registrar({"rendering",
                                     "where rays may stop, and what pictures cost whatever holds the scene",
                                     run,
                                     nullptr,
                                     {kStop, kMemory, kRealTime, kIntegral, kFixed, kSpan, kComputation,
                                      kFastest}});

}  // namespace
}  // namespace klab::learning::rendering_claim
