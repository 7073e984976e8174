// Memory of the trainer: places of the pictures and the batch, reactions to lack of memory, and a batch that
// is computed in parts.
#include <algorithm>
#include <new>

#include "labs/radiance/train/trainer.h"
#include "labs/radiance/train/views.h"

namespace klab {

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

// Arrays that are saved and restored belong to the trainer; the step's other arrays belong to its memory.
void Trainer::tie_memory() {
  const TrainStep& t = *programs_;
  for (const Part part : kParts) {
    const auto p = size_t(part);
    memory_->mirror(t.parameters[p], model_.parameters[p].data());
    memory_->mirror(t.gradient[p], moments_[p].gradient.data());
    memory_->mirror(t.m[p], moments_[p].m.data());
    memory_->mirror(t.v[p], moments_[p].v.data());
    memory_->mirror(t.steps[p], moments_[p].steps.data());
    if (config_.ema > 0) memory_->mirror(t.average[p], averages_[p].data());
  }
  if (t.level_sizes.exists()) {
    memory_->mirror(t.scales, model_.scales.data());
    memory_->mirror(t.level_sizes, model_.sizes.data());
  }
  memory_->mirror(t.cell_values, occupancy_.values().data());
  memory_->mirror(t.bits, model_.occupancy.data());
}

void Trainer::load_views() {
  const TrainStep& t = *programs_;
  const ViewLoader views(scene_, t.views, pool_);
  views.tie(*memory_);
  memory_->allocate();
  views.write(*memory_);
  if (pool_ != nullptr) turns_loaded_ = pool_->turns();
  if (errors_) errors_->write(*memory_);
  t.fill_ones(*memory_);
  memory_->push();
  if (pixels_drawn_ >= 0) draw_lists(pixels_drawn_, true);
  const auto occupied = int32_t(Occupancy::occupied(model_.occupancy));
  memory_->write(t.occupied, &occupied, sizeof occupied);
}

// Turns follow the number of the step, so that a resumed run uses the same pictures. If the backend has its
// own memory, no later step reads the place that a picture left. The next pictures are loaded there while
// steps run, and a turn only changes the places to read from.
void Trainer::rotate_pictures() {
  if (pool_ == nullptr) return;
  const ViewLoader views(scene_, programs_->views, pool_);
  std::vector<size_t> turned;
  while (pool_->turns() < step_ / kTurnEvery)
    profile_.time("waiting for data", [&] {
      turned.push_back(pool_->turn());
      if (turns_loaded_ >= pool_->turns()) return;
      views.load_picture(*memory_, pool_->places()[turned.back()]);
      turns_loaded_ = pool_->turns();
    });
  if (!turned.empty()) memory_->loaded();
  for (const size_t place : turned) views.write_places(*memory_, place);
  load_ahead(views);
}

// Loads one picture a step, so that the host never has to wait for room because of pictures that are not
// urgent.
void Trainer::load_ahead(const ViewLoader& views) {
  if (memory_->backend().in_host_memory || turns_loaded_ >= pool_->turns() + kTurnsLoaded) return;
  const std::optional<PicturePool::Place> next = pool_->coming(turns_loaded_);
  if (!next) return;
  profile_.time("loading pictures", [&] { views.load_picture(*memory_, *next); });
  ++turns_loaded_;
}

void Trainer::resize_batch(int64_t all_samples) {
  const int64_t samples = all_samples / share_.parts;
  if (memory_ != nullptr) memory_->pull();  // data that only the backend has
  ops_.reset();
  programs_.reset();
  memory_.reset();
  for (OptimizerState& m : moments_) std::fill(m.gradient.begin(), m.gradient.end(), 0.0F);
  config_.batch_samples = samples;
  config_.first_rays = std::min(config_.first_rays, samples);
  colored_ = false;
  part_ = 0;
  try {
    const MemoryOwner owner("batch");
    build();
    tie_memory();
    load_views();
  } catch (...) {
    ops_.reset();
    programs_.reset();
    memory_.reset();
    throw;
  }
  rays_next_ = std::min(rays_next_, TrainStep::ray_capacity(config_) - 1);
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

StepPart Trainer::step_part() const {
  const std::array tables = {model_.of(Part::table).size()};
  return part_of(share_, tables);
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
  float* const values = occupancy_.values().data();
  const int64_t chunk = t.cells_of_pass(), turn = share_.ranks * chunk;
  const auto each_of = [&](int64_t rank, const auto& use) {
    for (int64_t first = rank * chunk; first < count; first += turn)
      for (int64_t i = first, end = std::min<int64_t>(count, first + chunk); i < end; ++i)
        use(chosen[size_t(i)]);
  };
  std::vector<int64_t> bytes;
  for (int64_t r = 0; r < share_.ranks; ++r) {
    int64_t cells = 0;
    for (int64_t first = r * chunk; first < count; first += turn) cells += std::min(chunk, count - first);
    bytes.push_back(cells * int64_t(sizeof(float)));
  }
  std::vector<float> mine, all(static_cast<size_t>(count));
  mine.reserve(size_t(bytes[size_t(share_.rank)]) / sizeof(float));
  each_of(share_.rank, [&](int32_t cell) { mine.push_back(values[cell]); });
  share_.to_all(mine.data(), all.data(), bytes);
  const float* next = all.data();
  for (int64_t r = 0; r < share_.ranks; ++r) each_of(r, [&](int32_t cell) { values[cell] = *next++; });
  if (!memory_->backend().in_host_memory)
    memory_->write(t.cell_values, values, occupancy_.values().size_bytes());
}

// Every trainer that makes pictures needs averages; only the one that saves needs moments.
void Trainer::collect_state() {
  if (!share_.collect) return;
  memory_->pull();
  const OptimizerState& m = moments_[size_t(Part::table)];
  const auto all = [](const auto& array) { return std::span(array.data(), size_t(array.size())); };
  shared_.collect(0, all(m.m), 1, false);
  shared_.collect(0, all(m.v), 1, false);
  shared_.collect(0, all(m.steps), config_.features, false);
  if (config_.ema > 0) shared_.collect(0, all(averages_[size_t(Part::table)]), 1, true);
  if (!memory_->backend().in_host_memory) memory_->push();
}

}  // namespace klab
