#include "labs/radiance/train/voxel_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "labs/radiance/field/occupancy.h"
#include "labs/radiance/train/batch.h"

namespace klab {
namespace {

constexpr const char* kNamesVoxelTrainer[] = {"density", "coefficients"};

/// Returns the config of one part of the batch.
VoxelConfig of_a_part_voxel_trainer(VoxelConfig config, const BatchShare& share) {
  config.batch_samples = std::max<int64_t>(1, config.batch_samples / share.parts);
  config.first_rays = std::max<int64_t>(1, config.first_rays / share.parts);
  return config;
}

}  // namespace

VoxelTrainer::VoxelTrainer(const Scene& scene, const VoxelConfig& config, const Plan& plan, uint64_t seed,
                           const Backend& backend, const StepSizes& sizes, BatchShare share)
    : scene_(with_views(scene)),
      config_(of_a_part_voxel_trainer(config, share)),
      plan_(plan),
      seed_(seed),
      backend_(backend),
      sizes_(sizes),
      share_(std::move(share)),
      model_(VoxelModel::at_first(
          config, placement_of(scene, config.background == "black", config.near, config.far))),
      rays_next_(config_.first_rays) {
  require_given(config_, VoxelStep::kGiven | (view_data_of(scene).depth ? Term::true_depth : 0U));
  build();
}

/// Builds everything that depends on the grid and its rows. The optimizer starts without state.
void VoxelTrainer::build() {
  const int64_t rows = model_.rows(), numbers = 3 * config_.basis();
  ops_.reset();  // first, so that old and new memory never coexist
  programs_.reset();
  memory_.reset();
  moments_ = {OptimizerState(rows, 1), OptimizerState(rows * numbers, numbers)};
  memory_ = std::make_unique<Memory>(backend_);
  ops_ = std::make_unique<RunOps>(*memory_);
  programs_ = std::make_unique<VoxelStep>(*memory_, config_, model_.grid, rows, view_data_of(scene_), sizes_,
                                          part_of(share_, std::array{rows, rows * numbers}));
  const VoxelStep& t = *programs_;
  const Array<float>* const parameters[] = {&model_.density, &model_.coefficients};
  std::vector<LearnedArray> learned;
  for (size_t k = 0; k < 2; ++k) {
    const Array<float>& g = moments_[k].gradient;
    learned.push_back({.gradient = t.gradient[k],
                       .parameters = t.parameters[k],
                       .host_gradient = {g.data(), size_t(g.size())},
                       .host_parameters = {parameters[k]->data(), size_t(parameters[k]->size())},
                       .group = k == VoxelStep::density ? 1 : numbers});
    memory_->mirror(t.parameters[k], parameters[k]->data());
    memory_->mirror(t.gradient[k], moments_[k].gradient.data());
    memory_->mirror(t.m[k], moments_[k].m.data());
    memory_->mirror(t.v[k], moments_[k].v.data());
    memory_->mirror(t.steps[k], moments_[k].steps.data());
  }
  shared_ = SharedBatch(share_, learned);
  memory_->mirror(t.links, model_.links.data());
  memory_->mirror(t.bits, model_.occupancy.data());
  const ViewLoader views(scene_, t.views);
  views.tie(*memory_);
  memory_->allocate();
  views.write(*memory_);
  t.fill_ones(*memory_);
  memory_->push();
  colored_ = false;
}

// Plans the changes. A coarse grid has little to learn, and each finer one more: doublings are at the squares
// of their number. Prunings follow while the finest grid learns, most of them early: every later step saves
// the removed rows.
std::vector<VoxelTrainer::Change> VoxelTrainer::planned_changes() const {
  const int doublings =
      std::countr_zero(uint64_t(config_.grid)) - std::countr_zero(uint64_t(config_.first_grid));
  std::vector<Change> changes;
  for (int k = 1; k <= doublings; ++k)
    changes.push_back({config_.grow_until * std::pow(double(k) / double(doublings), 2), 2});
  for (const double part : {0.25, 0.5, 1.0})
    changes.push_back({config_.grow_until + part * (config_.prune_until - config_.grow_until), 1});
  return changes;
}

// Returns for each row whether it had a gradient since the grid was made; rows behind something opaque never
// have one. Empty while too few rays have been drawn for a meaningful result: a grid of g³ cells has about
// six g² surface cells.
std::vector<uint8_t> VoxelTrainer::seen_rows() const {
  constexpr int64_t kLooks = 12;  // rays for each of g² cells before rows that none of them met are removed
  const Array<int32_t>& steps = moments_[VoxelStep::density].steps;
  if (*std::ranges::max_element(steps) * rays_next_ * share_.parts < kLooks * model_.grid * model_.grid)
    return {};
  std::vector<uint8_t> seen(size_t(steps.size()));
  std::ranges::transform(steps, seen.begin(), [](int32_t count) { return uint8_t(count > 0); });
  return seen;
}

// Postpones a change while nothing is dense: the schedule is too fast for a short run or slow steps.
bool VoxelTrainer::change(int64_t factor) {
  constexpr int64_t kPatience = 16;  // steps between attempts
  if (step_ % kPatience != 0) return false;
  memory_->pull();
  // Every trainer counts the steps of the rows that it updates; all must remove the same rows.
  Array<int32_t>& steps = moments_[VoxelStep::density].steps;
  if (share_.collect)
    shared_.collect(VoxelStep::density, std::span(steps.data(), size_t(steps.size())), 1, true);
  const std::vector<uint8_t> seen = seen_rows();
  if (model_.rows_refined(1, seen) == 0) return false;
  // Prunes in any case, but refines only if there is room.
  if (factor > 1 && model_.rows_refined(factor, seen) > config_.max_rows) factor = 1;
  model_ = model_.refined(factor, seen);
  build();
  return true;
}

const VoxelModel& VoxelTrainer::model() const {
  memory_->pull();
  return model_;
}

Array<float>& VoxelTrainer::gradient(VoxelStep::Table table) {
  memory_->pull(programs_->gradient[table]);
  return moments_[table].gradient;
}

double VoxelTrainer::occupied_share() const {
  return double(Occupancy::occupied(model_.occupancy)) / double(8 * model_.occupancy.size());
}

StepNumbers VoxelTrainer::numbers() const {
  StepNumbers n;
  n.seed[0] = uint32_t(seed_);
  n.seed[1] = uint32_t(seed_ >> 32);
  n.step[0] = uint32_t(draws_of(step_, part_));
  n.step[1] = uint32_t(draws_of(step_, part_) >> 32);
  n.rays = int32_t(rays_next_);
  place(n, model_);
  n.empty = float(config_.empty);
  n.stop = float(-std::log(std::max(config_.early_stop, 1e-30)));
  n.cell = 1.0F / float(model_.grid);
  weigh_terms(n, config_, VoxelStep::kTermPoints);
  return n;
}

StepReport VoxelTrainer::loss_and_gradient() {
  StepNumbers n = numbers();
  const VoxelStep& t = *programs_;
  memory_->write(t.numbers, &n, sizeof n);
  memory_->set(t.rays, n.rays);
  ops_->run("loss", plan_, profile_, [&](Ops& ops) { programs_->loss_and_gradient(ops); });
  memory_->wait();
  memory_->read(&n, t.numbers, sizeof n);
  drawn_ = n.rays;
  whole_ = n.whole;
  colored_ = !fuses_loss(plan_) || !VoxelStep::fusable(config_);
  if (!std::isfinite(n.loss)) throw NotFinite(fmt::format("step {}: the loss is not finite", step_));
  const char* const names[] = {"density", "color"};
  for (size_t k = 0; k < 2; ++k)
    if (n.not_finite[k] != StepNumbers::kAllFinite)
      throw NotFinite(fmt::format("step {}: the gradient of a sample's {} is not finite (element {})", step_,
                                  names[k], n.not_finite[k]));
  StepReport report;
  report.loss = double(n.loss);
  take_terms(report, n);
  report.rays = n.whole;
  int32_t samples = 0, marched = 0;
  memory_->read(&samples, t.begin.from(drawn_), sizeof samples);
  memory_->read(&marched, t.ray_begin.from(drawn_), sizeof marched);
  report.samples = samples;
  report.marched = marched;
  return report;
}

StepReport VoxelTrainer::shared_loss_and_gradient() {
  if (share_.parts == 1) return loss_and_gradient();
  const StepReport report = shared_.mean_of_parts(*memory_, profile_, [&](int64_t part) {
    part_ = part;
    return loss_and_gradient();
  });
  part_ = 0;
  return report;
}

std::vector<std::span<const float>> VoxelTrainer::parameters() const {
  memory_->pull();
  return {{model_.density.data(), size_t(model_.density.size())},
          {model_.coefficients.data(), size_t(model_.coefficients.size())}};
}

double VoxelTrainer::batch_psnr() {
  if (!colored_) ops_->run("color", plan_, profile_, [&](Ops& ops) { programs_->composite(ops); });
  colored_ = true;
  return batch_psnr_of(*memory_, *programs_, whole_);
}

void VoxelTrainer::optimize(double progress) {
  StepNumbers n = numbers();
  const double factor = rate_factor_ * cosine_to(config_.final_rate, progress);
  rate_ = config_.density_rate * factor;
  n.table = {float(config_.density_rate * factor), float(config_.beta1), float(config_.beta2),
             float(config_.epsilon), 0.0F};
  n.networks = n.table;
  n.networks.rate = float(config_.color_rate * factor);
  memory_->write(programs_->numbers, &n, sizeof n);
  ops_->run("update", plan_, profile_, [&](Ops& ops) { programs_->update(ops); });
  shared_.complete(*memory_, profile_);
}

void VoxelTrainer::collect_state() {
  if (!share_.collect) return;
  memory_->pull();
  const auto all = [](const auto& array) { return std::span(array.data(), size_t(array.size())); };
  for (size_t k = 0; k < 2; ++k) {
    shared_.collect(k, all(moments_[k].m), 1, false);
    shared_.collect(k, all(moments_[k].v), 1, false);
    shared_.collect(k, all(moments_[k].steps), k == VoxelStep::density ? 1 : 3 * config_.basis(), false);
  }
  if (!backend_.in_host_memory) memory_->push();
}

StepReport VoxelTrainer::step(double progress) {
  const std::vector<Change> changes = planned_changes();
  if (changes_ < int64_t(changes.size()) && progress >= changes[size_t(changes_)].at)
    profile_.time("prune and refine", [&] { changes_ += change(changes[size_t(changes_)].factor); });
  StepReport report = shared_loss_and_gradient();
  if (std::exchange(measures_gradient_, false)) {
    double squares = 0;
    for (const auto table : {VoxelStep::density, VoxelStep::coefficients}) {
      const Array<float>& g = gradient(table);
      squares += squares_of({g.data(), size_t(g.size())});
    }
    report.gradient_norm = report.clipped_norm = std::sqrt(squares);
  }
  optimize(progress);
  StepReport mean = report;  // converted to one part
  for (int64_t* n : {&mean.rays, &mean.samples, &mean.marched}) *n /= share_.parts;
  rays_next_ = rays_after(mean, config_.batch_samples, VoxelStep::march_capacity(config_, model_.grid),
                          VoxelStep::ray_capacity(config_) - 1);
  report.step = ++step_;
  return report;
}

void VoxelTrainer::save(const std::filesystem::path& file,
                        const std::map<std::string, std::string>& extra) const {
  memory_->pull();
  std::map<std::string, std::string> metadata = model_.metadata();
  metadata.insert(extra.begin(), extra.end());
  metadata["trainer"] =
      nlohmann::json{{"step", step_}, {"seed", seed_}, {"rays", rays_next_}, {"changes", changes_}}.dump();
  std::vector<TensorView> list = model_.tensors();
  for (size_t k = 0; k < 2; ++k)
    for (const TensorView& t : moment_tensors(kNamesVoxelTrainer[k], moments_[k])) list.push_back(t);
  save_tensors(file, list, metadata);
}

void VoxelTrainer::restore(const TensorFile& file) {
  const std::string where = file.path().string() + ", its trainer state";
  const nlohmann::json saved = parse_json(file.metadata("trainer"), where);
  const auto step = number_in<int64_t>(saved, "step", {0, range::steps.high}, where);
  const auto rays =
      number_in<int64_t>(saved, "rays", {1, double(VoxelStep::ray_capacity(config_) - 1)}, where);
  const auto seed = number_in<uint64_t>(saved, "seed", range::seed, where);
  const auto changes = number_in<int64_t>(saved, "changes", {0, 16}, where);
  model_ = VoxelModel::read(file);
  build();
  for (size_t k = 0; k < 2; ++k) {
    for (const TensorView& t : moment_tensors(kNamesVoxelTrainer[k], moments_[k]))
      file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
    moments_[k].require_plausible(step, where);
  }
  seed_ = seed;
  step_ = step;
  rays_next_ = rays;
  changes_ = changes;
  memory_->push();
}

}  // namespace klab
