#include "labs/radiance/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "labs/radiance/train/batch.h"
#include "labs/radiance/train/views.h"

namespace klab {
namespace {

const char* name_of(Part part) {
  return part == Part::table ? "hash_table" : part == Part::density ? "density" : "color";
}

double learning_rate(const Config& c, int64_t step, double progress) {
  double rate = c.learning_rate;
  if (double(step) < c.warmup_steps) rate *= double(step + 1) / c.warmup_steps;
  if (c.schedule == "cosine") return rate * cosine_to(c.final_rate, progress);
  if (step >= c.decay_start) {
    const int64_t decays = 1 + (step - c.decay_start) / c.decay_every;
    rate *= std::pow(c.decay, double(decays));
  }
  return rate;
}

// The average of the weights is renewed every so many steps, with the decay raised to that power: a pass over
// all parameters costs memory traffic that single steps at 0.95 do not repay.
constexpr int64_t kAverageEvery = 8;

bool fused(const Plan& plan) { return plan.contains("composite_loss_bwd"); }

}  // namespace

int64_t Trainer::bytes_of(const Scene& scene, const Config& c, const StepSizes& sizes, bool with_pictures) {
  ViewData data = view_data_of(scene);
  if (!with_pictures) {
    data.pixels = data.views;
    data.depth = false;
  }
  return TrainStep(c, scene.cascades, data, sizes).arena.bytes();
}

Trainer::Trainer(const Scene& scene, const Config& config, const Plan& plan, uint64_t seed, Backend backend,
                 const StepSizes& sizes)
    : scene_(with_views(scene)),
      config_(config),
      plan_(plan),
      seed_(seed),
      model_(config, placement_of(scene, config.background == "black")),
      occupancy_(model_),
      lists_(config, scene.cascades, view_data_of(scene), sizes),
      loss_(lists_.loss(fused(plan))),
      rays_next_(config.first_rays) {
  model_.initialize(seed);
  unseen_ = occupancy_.leave_out_unseen(scene);
  for (const Part part : kParts) {
    const int64_t n = model_.of(part).size();
    moments_[size_t(part)] = OptimizerState(n, part == Part::table ? config_.features : n);
    if (config.ema > 0) averages_[size_t(part)] = Array<float>(n);
  }
  runner_ = std::make_unique<Runner>(lists_.arena, std::move(backend));
  tie_memory();
  load_views();
}

// Arrays that are written to files and read from them are the trainer's own; what a step needs besides is the runner's.
void Trainer::tie_memory() {
  const StepTensors& t = lists_.t;
  for (const Part part : kParts) {
    const auto p = size_t(part);
    runner_->mirror(t.parameters[p], model_.parameters[p].data());
    runner_->mirror(t.gradient[p], moments_[p].gradient.data());
    runner_->mirror(t.m[p], moments_[p].m.data());
    runner_->mirror(t.v[p], moments_[p].v.data());
    runner_->mirror(t.steps[p], moments_[p].steps.data());
    if (config_.ema > 0) runner_->mirror(t.average[p], averages_[p].data());
  }
  runner_->mirror(t.values, occupancy_.values().data());
  runner_->mirror(t.bits, model_.occupancy.data());
}

void Trainer::load_views() {
  const StepTensors& t = lists_.t;
  const ViewLoader views(scene_, t.views);
  views.tie(*runner_);
  runner_->allocate();
  views.write(*runner_);
  if (config_.total_variation > 0) {
    const std::vector<float> ones(size_t(TrainStep::kVariationPoints), 1.0F);
    runner_->write(t.ones, ones.data(), ones.size() * sizeof(float));
  }
  runner_->push();
  const auto occupied = int32_t(8 * model_.occupancy.size());  // as it is at first
  runner_->write(t.occupied, &occupied, sizeof occupied);
}

void Trainer::use(const Plan& plan) {
  plan_ = plan;
  loss_ = lists_.loss(fused(plan));
}

const Model& Trainer::model() const {
  runner_->pull();
  return model_;
}

Array<float>& Trainer::gradient(Part part) {
  runner_->pull(lists_.t.gradient[size_t(part)]);
  return moments_[size_t(part)].gradient;
}

void Trainer::move(Part part, const std::vector<float>& direction, double times) {
  runner_->pull();
  const Array<float>& parameters = model_.of(part);
  for (int64_t i = 0; i < parameters.size(); ++i)
    parameters[i] = float(double(parameters[i]) + times * double(direction[size_t(i)]));
  runner_->push();
}

double Trainer::occupied_share() const {
  int32_t occupied = 0;
  runner_->read(&occupied, lists_.t.occupied, sizeof occupied);
  return double(occupied) / double(8 * model_.occupancy.size());
}

StepNumbers Trainer::numbers() const {
  const Config& c = config_;
  StepNumbers n = marching_numbers(c, model_.placement);
  n.seed[0] = uint32_t(seed_);
  n.seed[1] = uint32_t(seed_ >> 32);
  n.step[0] = uint32_t(step_);
  n.step[1] = uint32_t(uint64_t(step_) >> 32);
  n.rays = int32_t(rays_next_);
  n.entropy = float(c.opacity_entropy);
  n.distortion = float(c.distortion);
  n.depth = float(c.depth);
  n.variation = float(c.total_variation / double(TrainStep::kVariationPoints));
  n.cell = 1.0F / (float(c.grid) * n.side);
  n.grid_decay = float(c.grid_decay);
  n.grid_share = float(c.grid_fraction);
  n.grid_threshold = float(c.grid_threshold);
  n.clip = float(c.clip_norm);
  n.keep = float(std::pow(c.ema, double(kAverageEvery)));
  return n;
}

void Trainer::update_grid() {
  const StepNumbers n = numbers();
  runner_->write(lists_.t.numbers, &n, sizeof n);
  runner_->set(lists_.t.all_cells, step_ < config_.grid_warmup);
  runner_->run(lists_.occupancy, plan_, profile_);
}

StepReport Trainer::loss_and_gradient() {
  StepNumbers n = numbers();
  runner_->write(lists_.t.numbers, &n, sizeof n);
  runner_->set(lists_.t.rays, n.rays);
  runner_->run(loss_, plan_, profile_);
  runner_->wait();
  runner_->read(&n, lists_.t.numbers, sizeof n);
  drawn_ = n.rays;
  whole_ = n.whole;
  colored_ = !fused(plan_) || !TrainStep::fusable(config_);
  require_finite(n);
  StepReport report;
  report.loss = double(n.loss);
  report.rays = n.whole;
  int32_t samples = 0, marched = 0;
  runner_->read(&samples, lists_.t.begin + drawn_, sizeof samples);
  runner_->read(&marched, lists_.t.ray_begin + drawn_, sizeof marched);
  report.samples = samples;
  report.marched = marched;
  return report;
}

void Trainer::require_finite(const StepNumbers& after) const {
  if (!std::isfinite(after.loss)) throw NotFinite(fmt::format("step {}: the loss is not finite", step_));
  for (size_t k = 0; k < kFiniteChecks.size(); ++k)
    if (after.not_finite[k] != StepNumbers::kAllFinite)
      throw NotFinite(fmt::format("step {}: the gradient of {} is not finite (element {})", step_,
                                  kFiniteChecks[k], after.not_finite[k]));
}

double Trainer::batch_psnr() {
  if (!colored_) runner_->run(lists_.color, plan_, profile_);
  colored_ = true;
  return batch_psnr_of(*runner_, lists_.t.rays, lists_.t.color, lists_.t.target, whole_);
}

void Trainer::optimize(double progress) {
  StepNumbers n = numbers();
  const auto rate = float(learning_rate(config_, step_, progress));
  n.table = {rate, float(config_.beta1), float(config_.beta2), float(config_.epsilon), 0.0F};
  n.networks = n.table;
  n.networks.l2 = float(config_.weight_decay);
  runner_->write(lists_.t.numbers, &n, sizeof n);
  runner_->run(lists_.update, plan_, profile_);
  if (!(config_.ema > 0) || (step_ + 1) % kAverageEvery != 0) return;
  averaged_weight_ = double(n.keep) * averaged_weight_ + (1 - double(n.keep));
  runner_->run(lists_.average, plan_, profile_);
}

void Trainer::adapt_rays(const StepReport& report) {
  rays_next_ = rays_after(report, config_.batch_samples, TrainStep::march_capacity(config_),
                          TrainStep::ray_capacity(config_) - 1);
}

StepReport Trainer::step(double progress) {
  if (step_ % config_.grid_every == 0) update_grid();
  StepReport report = loss_and_gradient();
  optimize(progress);
  adapt_rays(report);
  report.step = ++step_;
  return report;
}

Model Trainer::averaged() const {
  runner_->pull();
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
    for (const TensorView& t : moment_tensors(name_of(part), moments_[size_t(part)])) list.push_back(t);
    const Array<float>& average = averages_[size_t(part)];
    if (config_.ema > 0)
      list.push_back(
          {std::string("optimizer.") + name_of(part) + ".average", "F32", {average.size()}, average.data()});
  }
  auto& occupancy = const_cast<Occupancy&>(occupancy_);
  list.push_back(
      {"occupancy.values", "F32", {int64_t(occupancy.values().size())}, occupancy.values().data()});
  return list;
}

void Trainer::save(const std::filesystem::path& file, const std::map<std::string, std::string>& extra) const {
  runner_->pull();
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
  const auto rays =
      number_in<int64_t>(saved, "rays", {1, double(TrainStep::ray_capacity(config_) - 1)}, where);
  const auto seed = number_in<uint64_t>(saved, "seed", range::seed, where);
  const auto averaged = number_in<double>(saved, "averaged", {0, 1}, where);
  for (const TensorView& t : state()) file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
  for (const OptimizerState& m : moments_) m.require_plausible(step, where);
  seed_ = seed;
  averaged_weight_ = averaged;
  step_ = step;
  rays_next_ = rays;
  runner_->push();
  const auto occupied = int32_t(Occupancy::occupied(model_.occupancy));
  runner_->write(lists_.t.occupied, &occupied, sizeof occupied);
}

}  // namespace klab
