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

constexpr int64_t kSteps = 1500;
constexpr double kVisible = 0.1;  // dB

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
    text +=
        fmt::format("{}{}: {:.3f} dB, {:.2f} ms a view", text.empty() ? "" : "; ",
                    stop > 0 ? fmt::format("at {:g}", stop) : "never", p.back().psnr, 1e3 * p.back().seconds);
    if (stop > 0) curve.points.emplace_back(stop, p.back().psnr);
  }
  out.curves.push_back(curve);
  const double lost = p[1].psnr - p[3].psnr;
  out.decided.push_back({"a ray that stops at a transmittance of 0.01 in place of 1e-4 costs nothing visible",
                         lost < kVisible ? Finding::held : Finding::refuted,
                         fmt::format("{}; visible would be {} dB", text, kVisible)});
  model.config.early_stop = Config().early_stop;
}

Decided memory(const Pictures& p) {
  const Scene& scene = small_built_in_scene();
  const Config usual;
  const double training = double(Trainer::bytes_of(scene, usual)),
               rendering = double(Model::bytes_of(usual, scene.cascades) +
                                  Renderer::bytes_of(usual, Renderer::kRays));
  const Camera camera = larger_camera();
  const double pixels = double(camera.width) * camera.height;
  const double full = 800 * 800 / pixels * p.seconds;
  const bool less = rendering < training, real_time = full < 1.0 / 30;
  return {"rendering needs less memory than training, and is real-time",
          less && real_time   ? Finding::held
          : less || real_time ? Finding::depends
                              : Finding::refuted,
          fmt::format("with the recipe's sizes {:.0f} MB for pictures and {:.0f} MB for training; {:.2f} ms "
                      "of one core for "
                      "{}x{} pixels of this experiment's small field, at that rate {:.1f} s for 800x800",
                      1e-6 * rendering, 1e-6 * training, 1e3 * p.seconds, camera.width, camera.height, full)};
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
  return {"the sum along rays need not be fast, since other parts of a step matter more",
          share < 0.1   ? Finding::held
          : share > 0.3 ? Finding::refuted
                        : Finding::depends,
          fmt::format("it is {} of a step; three times as fast it would make the step {:.3f} times as fast",
                      percent_text(share), gain)};
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
  const bool
      large = gaussians.seconds < std::min(hash.seconds, voxels.seconds),
      small =
          gaussians.small_seconds<std::min(hash.small_seconds, voxels.small_seconds), alike = gaussians.psnr>
              std::max(hash.psnr, voxels.psnr) -
          kAlike;
  const Camera camera = small_camera();
  const auto text = [](const Pictures& p) {
    return fmt::format("{:.2f} and {:.2f} ms at {}", 1e3 * p.seconds, 1e3 * p.small_seconds, db_text(p.psnr));
  };
  return {"splatting is the fastest to render",
          large && small && alike ? Finding::held
          : large || small        ? Finding::depends
                                  : Finding::refuted,
          fmt::format("one core, pictures of {}x{} and of {}x{}: Gaussians {}, the hash field {}, voxels {}",
                      kLarger * camera.width, kLarger * camera.height, camera.width, camera.height,
                      text(gaussians), text(hash), text(voxels))};
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
  out.decided.push_back(memory(hash.pictures));
  out.decided.push_back(integral(seed));

  const VoxelConfig voxel_config = small_voxel_config();
  const Plan voxel_plan = untimed_plan(voxel_calls(voxel_config, true));
  VoxelTrainer voxel_trainer(small_built_in_scene(), voxel_config, voxel_plan, seed);
  begin = processor_seconds();
  const PerRay voxel_rays = per_ray(voxel_trainer);
  const Held voxels = as_voxels(voxel_trainer, voxel_plan, processor_seconds() - begin),
             gaussians = as_gaussians(seed, hash_seconds);
  for (const Held* h : std::initializer_list<const Held*>{&hash, &voxels, &gaussians}) row(out, *h);
  out.decided.push_back(
      {"instant-ngp's field takes a fixed number of samples of a ray, Plenoxels an adaptive one",
       hash_rays.last < 0.8 * hash_rays.first ? Finding::refuted : Finding::held,
       fmt::format("the hash field counted {:.1f} samples of a ray in its first step and {:.1f} in its last, "
                   "since its grid of "
                   "occupied cells says where; voxels {:.1f} and {:.1f}",
                   hash_rays.first, hash_rays.last, voxel_rays.first, voxel_rays.last)});
  out.decided.push_back(
      {"voxels take less computation and a wider span of memory than a hash field",
       voxels.bytes > hash.bytes && voxels.step_ms < 2 * hash.step_ms ? Finding::held : Finding::depends,
       fmt::format("voxels {:.1f} MB and {:.2f} ms of one core for a step of {} samples, the hash "
                   "field {:.1f} MB and {:.2f} ms "
                   "for {}; {} and {} of it",
                   1e-6 * voxels.bytes, voxels.step_ms, voxel_config.batch_samples, 1e-6 * hash.bytes,
                   hash.step_ms, config.batch_samples, db_text(voxels.pictures.psnr),
                   db_text(hash.pictures.psnr))});
  out.decided.push_back(fastest(hash.pictures, voxels.pictures, gaussians.pictures));
  return out;
}

const ExperimentRegistrar registrar({"rendering",
                                     "where rays may stop, and what pictures cost whatever holds the scene",
                                     run});

}  // namespace
}  // namespace klab::learning::rendering_claim
