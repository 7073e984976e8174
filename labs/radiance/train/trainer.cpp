#include "labs/radiance/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "labs/radiance/train/batch.h"

namespace klab {
namespace {

const char* tensor_name(Part part) {
  return part == Part::table ? "hash_table" : part == Part::density ? "density" : "color";
}

double scheduled_rate(const Config& c, int64_t step, double progress) {
  double rate = c.learning_rate;
  if (double(step) < c.warmup_steps) rate *= double(step + 1) / c.warmup_steps;
  if (c.schedule == "cosine") return rate * cosine_to(c.final_rate, progress);
  if (c.schedule == "shares") {
    // Tolerates shares that rounding leaves a little short: 0.6 is 0.4 and 0.2.
    const double since = (progress - c.decay_start_share) / c.decay_every_share;
    return since < 0 ? rate : rate * std::pow(c.decay, 1 + std::floor(since + 1e-9));
  }
  if (step >= c.decay_start) {
    const int64_t decays = 1 + (step - c.decay_start) / c.decay_every;
    rate *= std::pow(c.decay, double(decays));
  }
  return rate;
}

// The average of the weights is updated every kAverageEvery steps, with the decay raised to that power: a
// pass over all parameters costs memory traffic that single steps at 0.95 do not repay.
constexpr int64_t kAverageEvery = 8;

/// Returns the config of one part of the batch.
Config of_a_part_trainer(Config config, const BatchShare& share) {
  config.batch_samples = std::max<int64_t>(1, config.batch_samples / share.parts);
  config.first_rays = std::max<int64_t>(1, config.first_rays / share.parts);
  return config;
}

template <class Make>
auto owned_by(const char* owner, Make make) {
  const MemoryOwner counted(owner);
  return make();
}

bool fused(const Plan& plan) { return plan.contains("composite_loss_bwd"); }

}  // namespace

Trainer::Trainer(const Scene& scene, const Config& config, const Plan& plan, uint64_t seed, Backend backend,
                 const StepSizes& sizes, PicturePool* pool, BatchShare share, const StepPrecision& precision)
    : scene_(with_views(scene)),
      config_(of_a_part_trainer(config, share)),
      plan_(plan),
      seed_(seed),
      sizes_(sizes),
      pool_(pool),
      backend_(std::move(backend)),
      share_(std::move(share)),
      formats_(precision.formats),
      loss_scale_(precision.scale ? std::optional<LossScale>(*precision.scale) : std::nullopt),
      model_(owned_by(
          "table",
          [&] { return Model(config, placement_of(scene, config.background == "black", config.near)); })),
      occupancy_(owned_by("grid", [&] { return Occupancy(model_); })),
      errors_(error_map_of(config_, scene, pool)),
      rays_next_(config_.first_rays) {
  require_given(config_, TrainStep::kGiven | (view_data().depth ? Term::true_depth : 0U));
  build();
  model_.initialize(seed);
  unseen_ = occupancy_.leave_out_unseen(scene);
  const MemoryOwner of_optimizer("optimizer");
  for (const Part part : kParts) {
    const int64_t n = model_.of(part).size();
    moments_[size_t(part)] = OptimizerState(n, part == Part::table ? config_.features : n);
    if (config.ema > 0) averages_[size_t(part)] = Array<float>(n);
  }
  std::vector<LearnedArray> learned;
  for (const Part part : kParts) {
    const auto p = size_t(part);
    const Array<float>&g = moments_[p].gradient, &values = model_.of(part);
    learned.push_back({.gradient = programs_->gradient[p],
                       .parameters = programs_->parameters[p],
                       .host_gradient = {g.data(), size_t(g.size())},
                       .host_parameters = {values.data(), size_t(values.size())},
                       .group = part == Part::table ? config_.features : 0});
  }
  shared_ = SharedBatch(share_, learned);
  if (has_adaptive_table(config_)) adaptive_.emplace(config_, scene.cascades);
  const MemoryOwner of_batch("batch");
  tie_memory();
  load_views();
}

/// Declares the tensors of a step; tie_memory() and load_views() fill them.
void Trainer::build() {
  ops_.reset();
  programs_.reset();
  memory_ = std::make_unique<Memory>(backend_);
  programs_ = std::make_unique<TrainStep>(*memory_, config_, scene_.cascades, view_data(), sizes_, formats_,
                                          step_part());
  if (errors_)
    errors_->declare(*memory_, programs_->views, view_data_of(scene_, pool_).listed, programs_->rays);
  ops_ = std::make_unique<RunOps>(*memory_);
}

void Trainer::use(const Plan& plan) { plan_ = plan; }

const Model& Trainer::model() const {
  memory_->pull();
  return model_;
}

std::vector<std::span<const float>> Trainer::parameters() const {
  memory_->pull();
  std::vector<std::span<const float>> all;
  for (const Part part : kParts) all.emplace_back(model_.of(part).data(), size_t(model_.of(part).size()));
  return all;
}

Array<float>& Trainer::gradient(Part part) {
  memory_->pull(programs_->gradient[size_t(part)]);
  return moments_[size_t(part)].gradient;
}

void Trainer::begin_from(const Model& model) {
  memory_->pull();
  for (const Part part : kParts) std::ranges::copy(model.of(part), model_.of(part).begin());
  std::ranges::copy(model.occupancy, model_.occupancy.begin());
  // Cells that are occupied stay so until the field says otherwise: they are as dense as they must be.
  const std::span<float> values = occupancy_.values();
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] >= 0)
      values[i] = model.occupancy[int64_t(i / 8)] >> (i % 8) & 1 ? float(config_.grid_threshold) : 0;
  memory_->push();
  const auto occupied = int32_t(Occupancy::occupied(model_.occupancy));
  memory_->write(programs_->occupied, &occupied, sizeof occupied);
}

void Trainer::keep_zeros_of(const Model& model) {
  memory_->pull();
  for (const Part part : kParts) {
    const Array<float>&kept = model.of(part), &own = model_.of(part);
    for (int64_t i = 0; i < own.size(); ++i)
      if (kept[i] == 0) own[i] = 0;
  }
  memory_->push();
}

void Trainer::move(Part part, const std::vector<float>& direction, double times) {
  memory_->pull();
  const Array<float>& parameters = model_.of(part);
  for (int64_t i = 0; i < parameters.size(); ++i)
    parameters[i] = float(double(parameters[i]) + times * double(direction[size_t(i)]));
  memory_->push();
}

double Trainer::occupied_share() const {
  int32_t occupied = 0;
  memory_->read(&occupied, programs_->occupied, sizeof occupied);
  return double(occupied) / double(8 * model_.occupancy.size());
}

StepNumbers Trainer::numbers() const {
  const Config& c = config_;
  StepNumbers n = marching_numbers(c, model_.placement);
  n.seed[0] = uint32_t(seed_);
  n.seed[1] = uint32_t(seed_ >> 32);
  n.step[0] = uint32_t(draws_of(step_, part_));
  n.step[1] = uint32_t(draws_of(step_, part_) >> 32);
  n.rays = int32_t(rays_next_);
  weigh_terms(n, c, TrainStep::kTermPoints);
  n.cell = 1.0F / (float(c.grid) * n.volume[0]);
  n.grid_decay = float(c.grid_decay);
  n.grid_share = float(c.grid_fraction);
  n.grid_threshold = float(c.grid_threshold);
  n.clip = float(c.clip_norm);
  n.scale = loss_scale_ ? float(loss_scale_->value()) : 1.0F;
  n.keep = float(std::pow(c.ema, double(kAverageEvery)));
  return n;
}

void Trainer::update_grid() {
  const StepNumbers n = numbers();
  memory_->write(programs_->numbers, &n, sizeof n);
  memory_->set(programs_->all_cells, step_ < config_.grid_warmup);
  ops_->run("occupancy", plan_, profile_, [&](Ops& ops) { programs_->occupancy(ops); });
  if (share_.to_all) profile_.time("occupancy of ranks", [&] { share_grid(); });
  ops_->run("occupancy bits", plan_, profile_, [&](Ops& ops) { programs_->occupancy_bits(ops); });
}

StepReport Trainer::loss_and_gradient() {
  StepNumbers n = numbers();
  memory_->write(programs_->numbers, &n, sizeof n);
  memory_->set(programs_->rays, n.rays);
  draw_pixels();
  run_loss(profile_);
  memory_->read(&n, programs_->numbers, sizeof n);
  lost_ += {.numbers = n.lost[0], .to_zero = n.lost[1], .infinite = n.lost[2]};
  drawn_ = n.rays;
  learn_errors();
  whole_ = n.whole;
  colored_ = !fused(plan_) || !TrainStep::fusable(config_);
  StepReport report;
  if (const std::string what = not_finite(n); !what.empty()) {
    if (!loss_scale_) throw NotFinite(what);
    report.finite = false;
  }
  report.loss = double(n.loss);
  take_terms(report, n);
  report.rays = n.whole;
  int32_t samples = 0, marched = 0;
  memory_->read(&samples, programs_->begin.from(drawn_), sizeof samples);
  memory_->read(&marched, programs_->ray_begin.from(drawn_), sizeof marched);
  report.samples = samples;
  report.marched = marched;
  return report;
}

std::string Trainer::not_finite(const StepNumbers& after) const {
  if (!std::isfinite(after.loss)) return fmt::format("step {}: the loss is not finite", step_);
  for (size_t k = 0; k < kFiniteChecks.size(); ++k)
    if (after.not_finite[k] != StepNumbers::kAllFinite)
      return fmt::format("step {}: the gradient of {} is not finite (element {})", step_, kFiniteChecks[k],
                         after.not_finite[k]);
  return "";
}

// Returns whether the optimizer may run. Nothing of a skipped step reaches parameters, moments or the next
// gradient.
bool Trainer::take_step(const StepReport& report) {
  if (!loss_scale_ || loss_scale_->update(report.finite)) return true;
  forget_gradients();
  if (loss_scale_->hopeless())
    throw NotFinite(
        fmt::format("step {}: {} steps in a row had no finite gradient, down to a loss scale of {}; lower "
                    "\"learning_rate\" in "
                    "the config, give --loss-scale dynamic, or take --precision bf16",
                    step_, LossScale::kMostSkipped, loss_scale_->value()));
  return false;
}

void Trainer::forget_gradients() {
  for (const Part part : kParts) {
    Array<float>& g = moments_[size_t(part)].gradient;
    std::fill(g.begin(), g.end(), 0.0F);
    if (!memory_->backend().in_host_memory)
      memory_->write(programs_->gradient[size_t(part)], g.data(), size_t(g.bytes()));
  }
}

std::vector<float> Trainer::tensor(const std::string& name) const {
  const auto& tensors = memory_->tensors();
  const auto at = std::ranges::find(tensors, name, &Memory::Tensor::name);
  if (at == tensors.end() || at->element != Element::f32)
    throw std::out_of_range("no tensor of floats: " + name);
  std::vector<float> values(size_t(at->rows * at->columns.now()));
  memory_->read(values.data(), TensorPlace{memory_.get(), int(at - tensors.begin()), 0, 0},
                values.size() * sizeof(float));
  return values;
}

double Trainer::batch_psnr() {
  if (!colored_) ops_->run("color", plan_, profile_, [&](Ops& ops) { programs_->composite(ops); });
  colored_ = true;
  return batch_psnr_of(*memory_, *programs_, whole_);
}

void Trainer::optimize(double progress) {
  StepNumbers n = numbers();
  rate_ = rate_factor_ * scheduled_rate(config_, step_, progress);
  const auto rate = float(rate_);
  n.table = {rate, float(config_.beta1), float(config_.beta2), float(config_.epsilon), 0.0F};
  n.networks = n.table;
  n.table.rate *= float(config_.table_rate);
  n.networks.l2 = float(config_.weight_decay);
  memory_->write(programs_->numbers, &n, sizeof n);
  ops_->run("update", plan_, profile_, [&](Ops& ops) { programs_->update(ops); });
  shared_.complete(*memory_, profile_);
  if (!(config_.ema > 0) || (step_ + 1) % kAverageEvery != 0) return;
  averaged_weight_ = double(n.keep) * averaged_weight_ + (1 - double(n.keep));
  ops_->run("average", plan_, profile_, [&](Ops& ops) { programs_->update_average(ops); });
}

void Trainer::adapt_rays(const StepReport& report) {
  // Converts rays and samples of the report, which are sums over all parts, to those of one part.
  StepReport mean = report;
  mean.rays /= share_.parts;
  mean.samples /= share_.parts;
  mean.marched /= share_.parts;
  rays_next_ = rays_after(mean, config_.batch_samples, TrainStep::march_capacity(config_),
                          TrainStep::ray_capacity(config_) - 1);
}

void Trainer::measure_gradient(StepReport& report) {
  double before = 0, after = 0;
  for (const Part part : kParts) {
    const Array<float>& g = gradient(part);
    const double squares = squares_of({g.data(), size_t(g.size())});
    const bool clipped = config_.clip_norm > 0 && part != Part::table;
    before += squares;
    after += clipped ? std::min(squares, config_.clip_norm * config_.clip_norm) : squares;
  }
  report.gradient_norm = std::sqrt(before);
  report.clipped_norm = std::sqrt(after);
}

/// Returns how many of the finest levels of the table do not learn at that share of the run.
int64_t closed_levels_at(const Config& c, double progress) {
  if (c.open_until <= 0 || progress >= c.open_until) return 0;
  const int64_t first = std::min(c.open_first, c.levels);
  return c.levels - first - int64_t(progress / c.open_until * double(c.levels - first));
}

StepReport Trainer::step(double progress) {
  rotate_pictures();
  memory_->set(programs_->closed_levels, closed_levels_at(config_, progress));
  if (step_ % config_.grid_every == 0) update_grid();
  StepReport report = shared_loss_and_gradient();
  if (std::exchange(measures_gradient_, false)) measure_gradient(report);
  if (take_step(report)) optimize(progress);
  adapt_rays(report);
  report.step = ++step_;
  adapt_table();
  return report;
}

Model Trainer::averaged() const {
  memory_->pull();
  Model copy(model_.config, model_.placement);
  std::copy(model_.occupancy.begin(), model_.occupancy.end(), copy.occupancy.begin());
  copy.sizes = model_.sizes;
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
    for (const TensorView& t : moment_tensors(tensor_name(part), moments_[size_t(part)])) list.push_back(t);
    const Array<float>& average = averages_[size_t(part)];
    if (config_.ema > 0)
      list.push_back({std::string("optimizer.") + tensor_name(part) + ".average",
                      "F32",
                      {average.size()},
                      average.data()});
  }
  if (adaptive_)
    for (const TensorView& t : adaptive_->state()) list.push_back(t);
  if (errors_)
    for (const TensorView& t : errors_->state()) list.push_back(t);
  auto& occupancy = const_cast<Occupancy&>(occupancy_);
  list.push_back(
      {"occupancy.values", "F32", {int64_t(occupancy.values().size())}, occupancy.values().data()});
  return list;
}

void Trainer::save(const std::filesystem::path& file, const std::map<std::string, std::string>& extra) const {
  memory_->pull();
  std::map<std::string, std::string> metadata = model_.metadata();
  metadata.insert(extra.begin(), extra.end());
  nlohmann::json trainer = {
      {"step", step_}, {"seed", seed_}, {"rays", rays_next_}, {"averaged", averaged_weight_}};
  if (loss_scale_) trainer["loss_scale"] = to_json(loss_scale_->state());
  metadata["trainer"] = trainer.dump();
  save_tensors(file, state(), metadata);
}

int64_t Trainer::steps_in(const TensorFile& file) {
  const std::string where = file.path().string() + ", its trainer state";
  return number_in<int64_t>(parse_json(file.metadata("trainer"), where), "step", {0, range::steps.high},
                            where);
}

void Trainer::restore(const TensorFile& file) {
  const std::string where = file.path().string() + ", its trainer state";
  const nlohmann::json saved = parse_json(file.metadata("trainer"), where);
  const auto step = number_in<int64_t>(saved, "step", {0, range::steps.high}, where);
  const auto rays =
      number_in<int64_t>(saved, "rays", {1, double(1 << 24)}, where);  // of the batch at that time
  const auto seed = number_in<uint64_t>(saved, "seed", range::seed, where);
  const auto averaged = number_in<double>(saved, "averaged", {0, 1}, where);
  // A run that changes its precision starts with the configured scale.
  if (loss_scale_ && saved.contains("loss_scale"))
    loss_scale_->restore(loss_scale_state_from(saved.at("loss_scale"), where + ", its loss scale"));
  for (const TensorView& t : state()) file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
  for (const OptimizerState& m : moments_) m.require_plausible(step, where);
  model_.require_plausible_sizes(where);
  seed_ = seed;
  averaged_weight_ = averaged;
  step_ = step;
  rays_next_ = std::min(rays, TrainStep::ray_capacity(config_) - 1);
  forget_gradients();  // a step that was not finite leaves some
  memory_->push();
  const auto occupied = int32_t(Occupancy::occupied(model_.occupancy));
  memory_->write(programs_->occupied, &occupied, sizeof occupied);
  draw_pixels_again();
}

}  // namespace klab
