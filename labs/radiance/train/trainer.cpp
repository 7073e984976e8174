#include "labs/radiance/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/program/random.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

enum Purpose : uint64_t { kPixels = 10, kJitter, kBackground };

// Marched samples per step may take, over those that are to get a gradient: rays reach some way into what turns out to
// be behind a surface.
int64_t march_capacity(const Config& c) { return 4 * c.batch_samples + c.max_samples_per_ray; }
// Rays of empty space cost no samples, and those that hit something a few; this bounds how many may come together.
int64_t ray_capacity(const Config& c) { return std::max(c.first_rays, c.batch_samples); }

Placement placement_of(const Scene& scene, const Config& config) {
  return {scene.cascades, scene.scale, scene.offset, scene.near, config.background == "black"};
}

const Scene& with_views(const Scene& scene) {
  if (scene.train.empty()) throw std::invalid_argument("scene " + scene.name + " has no view to train on");
  return scene;
}

// The first element that is not finite, or -1. Runs over a whole batch in every step, so all are first taken
// together, in integers, which either compiler makes vectors of: infinities and NaN have all bits of the exponent set.
int64_t first_not_finite(const float* p, int64_t n) {
  constexpr uint32_t kExponent = 0x7F800000;
  uint32_t found = 0;
#pragma omp parallel for schedule(static) reduction(| : found)
  for (int64_t i = 0; i < n; ++i) found |= uint32_t((std::bit_cast<uint32_t>(p[i]) & kExponent) == kExponent);
  if (found == 0) return -1;
  return std::find_if(p, p + n, [](float x) { return !std::isfinite(x); }) - p;
}

const char* name_of(Part part) {
  return part == Part::table ? "hash_table" : part == Part::density ? "density" : "color";
}

double learning_rate(const Config& c, int64_t step, double progress) {
  double rate = c.learning_rate;
  if (double(step) < c.warmup_steps) rate *= double(step + 1) / c.warmup_steps;
  if (c.schedule == "cosine")
    return rate *
           (c.final_rate + (1 - c.final_rate) * 0.5 * (1 + std::cos(M_PI * std::clamp(progress, 0.0, 1.0))));
  if (step >= c.decay_start) {
    const int64_t decays = 1 + (step - c.decay_start) / c.decay_every;
    rate *= std::pow(c.decay, double(decays));
  }
  return rate;
}

// The average of the weights is renewed every so many steps, with the decay raised to that power: a pass over
// all parameters costs memory traffic that single steps at 0.95 do not repay.
constexpr int64_t kAverageEvery = 8;

}  // namespace

std::vector<PlannedCall> training_calls(const Config& c, int cascades) {
  // Rays of a grid that has learned what is empty have a few samples each.
  const int64_t samples = c.batch_samples, rays = std::max<int64_t>(1, samples / 3);
  std::vector<PlannedCall> calls = shading_calls(c, cascades, rays, samples, march_capacity(c));
  const auto add = [&](std::vector<PlannedCall> more) {
    calls.insert(calls.end(), more.begin(), more.end());
  };
  const std::string all = fmt::format("{} samples", samples);
  add(loss_calls(c, cascades, rays, samples));
  add({planned<CompositeBwd>({.rays = rays, .samples = samples}, fmt::format("{} of {} rays", all, rays)),
       planned<MlpBwd>(color_shape(c, samples), all), planned<MlpBwd>(density_shape(c, samples), all),
       planned<HashgridBwd>(hash_shape(c, cascades, samples), all)});
  const int64_t table = hashgrid_entries(hashgrid_levels(hash_shape(c, cascades, 0))) * c.features;
  add(adam_calls(table, c.features));
  for (const int64_t weights : {density_shape(c, 0).weights(), color_shape(c, 0).weights()})
    add(adam_calls(weights, weights));
  return calls;
}

int64_t Trainer::bytes_of(const Scene& scene, const Config& c) {
  const int64_t table = Model::bytes_of(c, scene.cascades);
  const int64_t samples = march_capacity(c);
  const int64_t per_sample =
      4 * (3 * c.levels * c.features + 2 * c.sh_degree * c.sh_degree + 3 * c.geometry_features + 21);
  return 5 * table + table / c.features / 4 + samples * per_sample + 96 * ray_capacity(c) +
         Losses::bytes_of(c, ray_capacity(c), samples) + 4 * scene.cascades * c.grid * c.grid * c.grid;
}

Trainer::Trainer(const Scene& scene, const Config& config, const Plan& plan, uint64_t seed)
    : scene_(with_views(scene)),
      config_(config),
      plan_(plan),
      seed_(seed),
      model_(config, placement_of(scene, config)),
      field_(model_, plan_, profile_, march_capacity(config)),
      batch_(model_, ray_capacity(config), march_capacity(config)),
      visible_(model_, profile_, batch_.max_rays, batch_.max_samples),
      occupancy_(model_, seed),
      rays_next_(config.first_rays),
      truth_{Array<float>(3 * batch_.max_rays), Array<float>(batch_.max_rays)},
      losses_(config_, plan_, batch_.max_rays, batch_.max_samples) {
  model_.initialize(seed);
  unseen_ = occupancy_.leave_out_unseen(scene);
  for (const Part part : kParts) {
    const int64_t n = model_.of(part).size();
    moments_[size_t(part)] = OptimizerState(n, group_of(part));
    if (config.ema > 0) averages_[size_t(part)] = Array<float>(n);
  }
  const int64_t samples = batch_.max_samples;
  d_raw_ = Array<float>(samples);
  d_rgb_ = Array<float>(3 * samples);
  d_color_input_ = Array<float>(model_.color_in() * samples);
  d_features_ = Array<float>(model_.encoded() * samples);
}

// An entry of the table has one step count; so has each matrix, which always moves as a whole.
int64_t Trainer::group_of(Part part) const {
  return part == Part::table ? config_.features : model_.of(part).size();
}

void Trainer::draw_rays() {
  const Draws pixels(seed_, uint64_t(step_), kPixels), jitter(seed_, uint64_t(step_), kJitter),
      background(seed_, uint64_t(step_), kBackground);
  const int64_t n = batch_.rays = rays_next_;
  const auto views = int64_t(scene_.train.size());
  const bool random = config_.background == "random";
  const float fixed = config_.background == "black" ? 0.0F : 1.0F;
  struct Drawn {
    const View& view;
    int64_t pixel;
  };
  const auto draw = [&](int64_t r) {
    const View& view = scene_.train[size_t(pixels.below(uint64_t(r) * 2, views))];
    return Drawn{view, view.place_with_ray(pixels.below(uint64_t(r) * 2 + 1, view.places_with_ray()))};
  };
  // A pixel anywhere in all the pictures is a miss in every cache; the draws of later rays are known already.
  constexpr int64_t kAhead = 16;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < n; ++r) {
    const Drawn later = draw(r + kAhead);
    __builtin_prefetch(later.view.image.rgba.data() + later.pixel * 4);
    if (!later.view.depth.empty()) __builtin_prefetch(later.view.depth.data() + later.pixel);
    const auto [view, pixel] = draw(r);
    const auto x = int(pixel % view.image.width), y = int(pixel / view.image.width);
    const Ray ray = view.camera.ray(float(x) + 0.5F, float(y) + 0.5F);
    const float o[3] = {ray.origin.x, ray.origin.y, ray.origin.z};
    const float d[3] = {ray.direction.x, ray.direction.y, ray.direction.z};
    const uint8_t* p = view.image.at(x, y);
    const float alpha = float(p[3]) / 255.0F;
    for (int64_t c = 0; c < 3; ++c) {
      batch_.origins[c * n + r] = o[c];
      batch_.directions[c * n + r] = d[c];
      const float back = random ? background.unit(uint64_t(r) * 3 + uint64_t(c)) : fixed;
      batch_.background[c * n + r] = back;
      truth_.color[c * n + r] = alpha * float(p[c]) / 255.0F + (1 - alpha) * back;
    }
    batch_.jitter[r] = jitter.unit(uint64_t(r));
    truth_.depth[r] = view.depth.empty() ? 0.0F : view.depth[size_t(pixel)];
  }
}

void Trainer::leave_out_cut_rays() {
  const int64_t whole = whole_rays(batch_, config_.max_samples_per_ray), all = batch_.rays;
  if (whole == all) return;
  keep_rays(batch_, whole);
  for (int64_t c = 1; c < 3; ++c) {
    float* rows = truth_.color.data();
    std::memmove(rows + c * whole, rows + c * all, size_t(whole) * sizeof(float));
  }
}

double Trainer::backward() {
  const int64_t rays = batch_.rays, n = batch_.samples;
  double loss = 0;
  const bool fused = losses_.fused();
  if (fused)
    loss = losses_.evaluate_fused(batch_, truth_, field_.geometry(n), field_.rgb(), d_raw_.data(),
                                  d_rgb_.data(), profile_);
  else
    profile_.time("loss", [&] { loss = losses_.evaluate(batch_, truth_, field_.geometry(n)); });
  if (!std::isfinite(loss)) throw NotFinite(fmt::format("step {}: the loss is not finite", step_));
  if (!fused)
    profile_.run<CompositeBwd>("composite_bwd", plan_,
                               {.shape = {.rays = rays, .samples = n},
                                .ray_begin = batch_.ray_begin.data(),
                                .density_raw = field_.geometry(n),
                                .rgb = field_.rgb(),
                                .delta = batch_.delta.data(),
                                .t = batch_.t.data(),
                                .background = batch_.background.data(),
                                .d_color = losses_.d_color(),
                                .d_opacity = losses_.d_opacity(),
                                .d_depth = losses_.d_depth(),
                                .d_density_raw = d_raw_.data(),
                                .d_rgb = d_rgb_.data()});
  losses_.add_distortion_gradient(batch_, field_.geometry(n), d_raw_.data());
  profile_.run<MlpBwd>("mlp_bwd color", plan_,
                       {.shape = model_.color_shape(n),
                        .x = field_.color_input(),
                        .weights = model_.of(Part::color).data(),
                        .d_y = d_rgb_.data(),
                        .d_x = d_color_input_.data(),
                        .d_weights = gradient(Part::color).data()});
  float* d_geometry = d_color_input_.data() + model_.directional() * n;
  profile_.time("samples", [&] {
  // The first geometry output feeds both the density and the color network: its two gradients add up.
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) d_geometry[i] += d_raw_[i];
  });
  profile_.run<MlpBwd>("mlp_bwd density", plan_,
                       {.shape = model_.density_shape(n),
                        .x = field_.features(),
                        .weights = model_.of(Part::density).data(),
                        .d_y = d_geometry,
                        .d_x = d_features_.data(),
                        .d_weights = gradient(Part::density).data()});
  for (const Part part : {Part::density, Part::color}) {
    const Array<float>& gradient = moments_[size_t(part)].gradient;
    require_finite(name_of(part), gradient.data(), gradient.size());
  }
  // The table's gradient is large and mostly zero; what is not finite in it comes from here.
  require_finite("the hash features", d_features_.data(), model_.encoded() * n);
  profile_.run<HashgridBwd>("hashgrid_bwd", plan_,
                            {.shape = model_.hash_shape(n),
                             .positions = batch_.positions.data(),
                             .d_features = d_features_.data(),
                             .d_table = gradient(Part::table).data()});
  return loss;
}

void Trainer::color_batch() {
  if (colored_) return;
  composite(plan_, profile_, field_, batch_);
  colored_ = true;
}

double Trainer::batch_psnr() {
  color_batch();
  double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int64_t i = 0; i < 3 * batch_.rays; ++i) {
    const double d = double(batch_.color[i]) - double(truth_.color[i]);
    sum += d * d;
  }
  return -10 * std::log10(std::max(sum / double(3 * batch_.rays), 1e-12));
}

void Trainer::require_finite(const char* what, const float* gradient, int64_t n) {
  profile_.time("finite gradients", [&] {
    const int64_t bad = first_not_finite(gradient, n);
    if (bad >= 0)
      throw NotFinite(
          fmt::format("step {}: the gradient of {} is not finite (element {})", step_, what, bad));
  });
}

void Trainer::optimize(double progress) {
  const double rate = learning_rate(config_, step_, progress);
  for (const Part part : kParts) {
    const AdamSettings adam = {rate, config_.beta1, config_.beta2, config_.epsilon,
                               part == Part::table ? 0.0 : config_.weight_decay};
    profile_.time("adam", [&] {
      adam_step(plan_, adam, group_of(part), model_.parameters[size_t(part)], moments_[size_t(part)]);
    });
  }
  if (config_.ema > 0 && (step_ + 1) % kAverageEvery == 0) profile_.time("average", [&] { average(); });
}

void Trainer::average() {
  const auto keep = float(std::pow(config_.ema, double(kAverageEvery)));
  averaged_weight_ = double(keep) * averaged_weight_ + (1 - double(keep));
  for (const Part part : kParts) {
    float* average = averages_[size_t(part)].data();
    const float* now = model_.of(part).data();
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < model_.of(part).size(); ++i) average[i] = keep * average[i] + (1 - keep) * now[i];
  }
}

void Trainer::adapt_rays(const StepReport& report) {
  // As many rays as bring the wanted number of samples, going by this step (Müller et al. 2022, appendix E), if what
  // is marched for them has room. A step with next to no samples says little: the number at most doubles.
  const double rays = double(report.rays);
  const auto rays_for = [&](double wanted, int64_t had) {
    return wanted * rays / double(std::max<int64_t>(1, had));
  };
  const double want = std::min({rays_for(double(config_.batch_samples), report.samples),
                                rays_for(0.9 * double(march_capacity(config_)), report.marched), 2.0 * rays});
  rays_next_ = std::clamp(int64_t(want), int64_t(16), batch_.max_rays);
}

StepReport Trainer::loss_and_gradient() {
  StepReport report;
  profile_.time("rays", [&] { draw_rays(); });
  march(model_, plan_, profile_, batch_);
  leave_out_cut_rays();
  report.marched = batch_.samples;
  const std::array<const float*, 3> parameters = {
      model_.of(Part::table).data(), model_.of(Part::density).data(), model_.of(Part::color).data()};
  shade(parameters, profile_, visible_, field_, batch_);
  colored_ = false;
  if (!losses_.fused()) color_batch();
  report.loss = backward();
  report.rays = batch_.rays;
  report.samples = batch_.samples;
  if (config_.total_variation > 0) {
    color_batch();  // while the field still has what its colors are made of
    profile_.time("total variation", [&] {
      Profile inner;  // its share of the field is not the step's
      std::swap(inner, profile_);
      report.loss += total_variation(model_, plan_, field_, seed_, step_, moments_);
      std::swap(inner, profile_);
    });
  }
  return report;
}

StepReport Trainer::step(double progress) {
  if (step_ % config_.grid_every == 0)
    profile_.time("occupancy", [&] {
      Profile inner;  // the grid's share of the field is not the step's
      std::swap(inner, profile_);
      occupancy_.update(field_, step_);
      std::swap(inner, profile_);
    });
  StepReport report = loss_and_gradient();
  optimize(progress);
  adapt_rays(report);
  report.step = ++step_;
  return report;
}

Model Trainer::averaged() const {
  Model copy(config_, model_.placement);
  std::copy(model_.occupancy.begin(), model_.occupancy.end(), copy.occupancy.begin());
  for (const Part part : kParts) {
    const Array<float>& average = averages_[size_t(part)];
    const bool use = config_.ema > 0 && averaged_weight_ > 0;
    const float scale = use ? float(1 / averaged_weight_) : 1.0F;
    const Array<float>& from = use ? average : model_.of(part);
    for (int64_t i = 0; i < from.size(); ++i) copy.of(part)[i] = scale * from[i];
  }
  return copy;
}

std::vector<TensorView> Trainer::state() const {
  std::vector<TensorView> list = model_.tensors();
  for (const Part part : kParts) {
    const OptimizerState& m = moments_[size_t(part)];
    const std::string prefix = std::string("optimizer.") + name_of(part);
    list.push_back({prefix + ".m", "F32", {m.m.size()}, m.m.data()});
    list.push_back({prefix + ".v", "F32", {m.v.size()}, m.v.data()});
    list.push_back({prefix + ".steps", "I32", {m.steps.size()}, m.steps.data()});
    const Array<float>& average = averages_[size_t(part)];
    if (config_.ema > 0) list.push_back({prefix + ".average", "F32", {average.size()}, average.data()});
  }
  auto& occupancy = const_cast<Occupancy&>(occupancy_);
  list.push_back(
      {"occupancy.values", "F32", {int64_t(occupancy.values().size())}, occupancy.values().data()});
  return list;
}

void Trainer::save(const std::filesystem::path& file, const std::map<std::string, std::string>& extra) const {
  std::map<std::string, std::string> metadata = model_.metadata();
  metadata.insert(extra.begin(), extra.end());
  metadata["trainer"] =
      nlohmann::json{{"step", step_}, {"seed", seed_}, {"rays", rays_next_}, {"averaged", averaged_weight_}}
          .dump();
  save_tensors(file, state(), metadata);
}

void Trainer::restore(const TensorFile& file) {
  const std::string where = file.path().string() + ", its trainer state";
  const nlohmann::json saved = parse_json(file.metadata("trainer"), where);
  const auto step = number_in<int64_t>(saved, "step", {0, range::steps.high}, where);
  const auto rays = number_in<int64_t>(saved, "rays", {1, double(batch_.max_rays)}, where);
  const auto seed = number_in<uint64_t>(saved, "seed", range::seed, where);
  const auto averaged = number_in<double>(saved, "averaged", {0, 1}, where);
  for (const TensorView& t : state()) file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
  for (const OptimizerState& m : moments_) m.require_plausible(step, where);
  seed_ = seed;
  averaged_weight_ = averaged;
  step_ = step;
  rays_next_ = rays;
}

}  // namespace klab
