#include "labs/radiance/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "labs/radiance/train/batch.h"
#include "labs/radiance/train/schedule.h"

namespace klab {
namespace {

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

}  // namespace

Trainer::Trainer(const Scene& scene, const Config& config, const Plan& plan, uint64_t seed, Backend backend,
                 const StepSizes& sizes, PicturePool* pool, BatchShare share, const StepPrecision& precision)
    : scene_(with_views(scene)),
      config_(of_a_part_trainer(config, share)),
      plan_(plan),
      seed_(seed),
      sizes_(sizes),
      pictures_(scene, pool),
      backend_(std::move(backend)),
      share_(std::move(share)),
      formats_(precision.formats),
      loss_scale_(precision.scale ? std::optional<LossScale>(*precision.scale) : std::nullopt),
      learned_(owned_by("table",
                        [&] {
                          return LearnedModel(config, placement_of(scene, config.background == "black",
                                                                   config.near, config.far));
                        })),
      occupancy_(owned_by("grid", [&] { return Occupancy(learned_.model()); })),
      errors_(config_, scene, pool != nullptr),
      rays_next_(config_.first_rays) {
  require_given(config_, TrainStep::kGiven | (view_data().depth ? Term::true_depth : 0U));
  build();
  learned_.model().initialize(seed);
  unseen_ = occupancy_.leave_out_unseen(scene);
  const MemoryOwner of_optimizer("optimizer");
  learned_.allocate_moments();
  shared_ = SharedBatch(share_, learned_.arrays(*programs_));
  if (has_adaptive_table(config_)) adaptive_.emplace(config_, scene.cascades);
  const MemoryOwner of_batch("batch");
  allocate();
}

int64_t Trainer::bytes_of(const Scene& scene, const Config& c, const StepSizes& sizes, bool with_pictures,
                          const StepFormats& formats) {
  ViewData data = view_data_of(scene);
  if (!with_pictures) {
    data.pixels = data.views;
    data.depth = false;
  }
  Memory memory;
  const TrainStep declared(memory, c, scene.cascades, data, sizes, formats);
  return memory.bytes();
}

/// Declares the tensors of a step; allocate() fills them.
void Trainer::build() {
  ops_.reset();
  programs_.reset();
  memory_ = std::make_unique<Memory>(backend_);
  programs_ = std::make_unique<TrainStep>(*memory_, config_, scene_.cascades, view_data(), sizes_, formats_,
                                          step_part());
  errors_.declare(*memory_, *programs_, pictures_.data().listed);
  ops_ = std::make_unique<RunOps>(*memory_);
}

// Arrays that are saved and restored belong to the trainer; the step's other arrays belong to its memory.
void Trainer::allocate() {
  learned_.tie(*memory_, *programs_);
  memory_->mirror(programs_->cell_values, occupancy_.values().data());
  memory_->mirror(programs_->bits, learned_.model().occupancy.data());
  pictures_.allocate(*memory_, programs_->views);
  errors_.write(*memory_);
  programs_->fill_ones(*memory_);
  memory_->push();
  errors_.draw_present(seed_, runner());
  write_occupied();
}

void Trainer::write_occupied() {
  const auto occupied = int32_t(Occupancy::occupied(learned_.model().occupancy));
  memory_->write(programs_->occupied, &occupied, sizeof occupied);
}

void Trainer::resize_batch(int64_t all_samples) {
  const int64_t samples = all_samples / share_.parts;
  if (memory_ != nullptr) memory_->pull();  // data that only the backend has
  ops_.reset();
  programs_.reset();
  memory_.reset();
  learned_.clear_gradients();
  config_.batch_samples = samples;
  config_.first_rays = std::min(config_.first_rays, samples);
  colored_ = false;
  part_ = 0;
  try {
    const MemoryOwner owner("batch");
    build();
    allocate();
  } catch (...) {
    ops_.reset();
    programs_.reset();
    memory_.reset();
    throw;
  }
  rays_next_ = std::min(rays_next_, TrainStep::ray_capacity(config_) - 1);
}

void Trainer::use(const Plan& plan) { plan_ = plan; }

const Model& Trainer::model() const {
  memory_->pull();
  return learned_.model();
}

std::vector<std::span<const float>> Trainer::parameters() const {
  const Model& m = model();
  std::vector<std::span<const float>> all;
  for (const Part part : kParts) all.emplace_back(m.of(part).data(), size_t(m.of(part).size()));
  return all;
}

Array<float>& Trainer::gradient(Part part) {
  memory_->pull(programs_->gradient[size_t(part)]);
  return learned_.gradient(part);
}

void Trainer::begin_from(const Model& model) {
  memory_->pull();
  learned_.take_parameters(model);
  std::ranges::copy(model.occupancy, learned_.model().occupancy.begin());
  // Cells that are occupied stay so until the field says otherwise: they are as dense as they must be.
  const std::span<float> values = occupancy_.values();
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] >= 0)
      values[i] = model.occupancy[int64_t(i / 8)] >> (i % 8) & 1 ? float(config_.grid_threshold) : 0;
  memory_->push();
  write_occupied();
}

void Trainer::keep_zeros_of(const Model& model) {
  memory_->pull();
  learned_.keep_zeros_of(model);
  memory_->push();
}

void Trainer::move(Part part, const std::vector<float>& direction, double times) {
  memory_->pull();
  learned_.move(part, direction, times);
  memory_->push();
}

double Trainer::occupied_share() const {
  int32_t occupied = 0;
  memory_->read(&occupied, programs_->occupied, sizeof occupied);
  return double(occupied) / double(8 * learned_.model().occupancy.size());
}

ViewData Trainer::view_data() const {
  ViewData data = pictures_.data();
  data.listed += errors_.listed();
  return data;
}

StepPart Trainer::step_part() const {
  const std::array tables = {learned_.model().of(Part::table).size()};
  return part_of(share_, tables);
}

StepNumbers Trainer::numbers() const {
  const Config& c = config_;
  StepNumbers n = marching_numbers(c, learned_.model().placement);
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
  n.keep = float(std::pow(c.ema, double(TrainStep::kAverageEvery)));
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

// Each trainer has evaluated its part of the chosen cells, and has the values of these; afterwards all have
// all values.
void Trainer::share_grid() {
  memory_->wait();
  const TrainStep& t = *programs_;
  int32_t count = 0;
  memory_->read(&count, t.chosen_count, sizeof count);
  std::vector<int32_t> chosen(static_cast<size_t>(count));
  memory_->read(chosen.data(), t.chosen, chosen.size() * sizeof(int32_t));
  memory_->pull(t.cell_values);
  const std::span<float> values = occupancy_.values();
  shared_.share_cells(chosen, t.cells_of_pass(), values);
  if (!memory_->backend().in_host_memory) memory_->write(t.cell_values, values.data(), values.size_bytes());
}

/// Computes the loss of the next step's batch and adds its gradient; returns the step's numbers afterwards.
StepNumbers Trainer::evaluate_batch(Profile& profile) {
  StepNumbers n = numbers();
  memory_->write(programs_->numbers, &n, sizeof n);
  memory_->set(programs_->rays, n.rays);
  errors_.draw(step_, seed_, runner());
  ops_->run("loss", plan_, profile, [&](Ops& ops) {
    programs_->find_samples(ops);
    errors_.weigh(ops, *programs_);
    programs_->learn_from_samples(ops);
  });
  memory_->wait();
  memory_->read(&n, programs_->numbers, sizeof n);
  drawn_ = n.rays;
  whole_ = n.whole;
  colored_ = !fuses_loss(plan_) || !TrainStep::fusable(config_);
  return n;
}

StepReport Trainer::loss_and_gradient() {
  const StepNumbers n = evaluate_batch(profile_);
  lost_ += {.numbers = n.lost[0], .to_zero = n.lost[1], .infinite = n.lost[2]};
  errors_.learn(*programs_, runner());
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

StepReport Trainer::shared_loss_and_gradient() {
  if (share_.parts == 1) return loss_and_gradient();
  const StepReport report = shared_.mean_of_parts(*memory_, profile_, [&](int64_t part) {
    part_ = part;
    return loss_and_gradient();
  });
  part_ = 0;
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
  learned_.clear_gradients();
  if (memory_->backend().in_host_memory) return;
  for (const Part part : kParts) {
    const Array<float>& g = learned_.gradient(part);
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
  if (!(config_.ema > 0) || (step_ + 1) % TrainStep::kAverageEvery != 0) return;
  learned_.count_average(double(n.keep));
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

StepReport Trainer::step(double progress) {
  pictures_.turn_to(step_, *memory_, programs_->views, profile_);
  memory_->set(programs_->closed_levels, closed_levels_at(config_, progress));
  if (step_ % config_.grid_every == 0) update_grid();
  StepReport report = shared_loss_and_gradient();
  if (std::exchange(measures_gradient_, false)) {
    for (const Part part : kParts) memory_->pull(programs_->gradient[size_t(part)]);
    if (config_.weight_decay > 0)
      for (const Part part : {Part::density, Part::color}) memory_->pull(programs_->parameters[size_t(part)]);
    learned_.measure_gradient(report);
  }
  if (take_step(report)) optimize(progress);
  adapt_rays(report);
  report.step = ++step_;
  adapt_table();
  return report;
}

// While all cells of the grid are updated, samples are everywhere and do not show the content of the scene.
void Trainer::adapt_table() {
  if (!adaptive_ || step_ % config_.table_every != 0) return;
  memory_->pull();
  const TableEntries entries = learned_.table_entries();
  std::vector<int64_t>& sizes = learned_.model().sizes;
  if (step_ <= config_.grid_warmup) {
    adaptive_->note(entries, step_, sizes);
    return;
  }
  TableChange change;
  profile_.time("adaptive table", [&] { change = adaptive_->adapt(entries, step_, sizes); });
  changes_ += change;
  if (change.any()) memory_->push();
}

std::string Trainer::table_news() {
  const TableChange c = std::exchange(changes_, {});
  if (!c.any()) return "";
  const Model& m = learned_.model();
  return fmt::format(
      "{} entries in use of room for {}: {} times a level grew, {} times one shrank, {} entries were reset",
      m.entries_in_use(), m.table_entries(), c.grown, c.shrunk, c.recycled);
}

// Computes the next step's loss and leaves its gradient; returns the positions of its samples.
std::vector<float> Trainer::positions_of_batch() {
  memory_->pull();
  Profile unused;
  evaluate_batch(unused);
  int32_t samples = 0;
  memory_->read(&samples, programs_->begin.from(drawn_), sizeof samples);
  std::vector<float> positions(size_t(3 * samples));
  // Where ops are called with capacities, rows have their length.
  const int64_t row = programs_->samples.now();
  for (int64_t axis = 0; axis < 3; ++axis)
    memory_->read(positions.data() + axis * samples, programs_->positions.from(axis * row),
                  size_t(samples) * sizeof(float));
  return positions;
}

std::vector<float> Trainer::batch_positions() {
  std::vector<float> positions = positions_of_batch();
  learned_.clear_gradients();
  memory_->push();
  return positions;
}

std::vector<LevelUse> Trainer::level_uses() {
  if (share_.own < share_.parts) return {};  // others have parts of the gradient
  const std::vector<float> positions = positions_of_batch();
  memory_->pull(programs_->gradient[size_t(Part::table)]);
  std::vector<LevelUse> uses = learned_.level_uses(positions);
  learned_.clear_gradients();
  memory_->push();
  return uses;
}

Model Trainer::averaged() const {
  memory_->pull();
  return learned_.averaged();
}

void Trainer::collect_state() {
  if (!share_.collect) return;
  memory_->pull();
  learned_.collect(shared_);
  if (!memory_->backend().in_host_memory) memory_->push();
}

std::vector<TensorView> Trainer::state() const {
  std::vector<TensorView> list = learned_.state();
  if (adaptive_)
    for (const TensorView& t : adaptive_->state()) list.push_back(t);
  for (const TensorView& t : errors_.state()) list.push_back(t);
  auto& occupancy = const_cast<Occupancy&>(occupancy_);
  list.push_back(
      {"occupancy.values", "F32", {int64_t(occupancy.values().size())}, occupancy.values().data()});
  return list;
}

void Trainer::save(const std::filesystem::path& file, const std::map<std::string, std::string>& extra) const {
  memory_->pull();
  std::map<std::string, std::string> metadata = learned_.model().metadata();
  metadata.insert(extra.begin(), extra.end());
  nlohmann::json trainer = {
      {"step", step_}, {"seed", seed_}, {"rays", rays_next_}, {"averaged", learned_.averaged_weight()}};
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
  learned_.restore(step, averaged, where);
  seed_ = seed;
  step_ = step;
  rays_next_ = std::min(rays, TrainStep::ray_capacity(config_) - 1);
  forget_gradients();  // a step that was not finite leaves some
  memory_->push();
  write_occupied();
  errors_.draw_restored(step_, seed_, runner());
}

}  // namespace klab
