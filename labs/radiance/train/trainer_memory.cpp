// Of the trainer: where pictures and the batch lie, what becomes of them when there is less memory than was thought, and a batch
// that is computed in parts.
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
  return TrainStep(c, scene.cascades, data, sizes, formats).arena.bytes();
}

// Arrays that are written to files and read from them are the trainer's own; what a step needs besides is the runner's.
void Trainer::tie_memory() {
  const StepTensors& t = lists_->t;
  for (const Part part : kParts) {
    const auto p = size_t(part);
    runner_->mirror(t.parameters[p], model_.parameters[p].data());
    runner_->mirror(t.gradient[p], moments_[p].gradient.data());
    runner_->mirror(t.m[p], moments_[p].m.data());
    runner_->mirror(t.v[p], moments_[p].v.data());
    runner_->mirror(t.steps[p], moments_[p].steps.data());
    if (config_.ema > 0) runner_->mirror(t.average[p], averages_[p].data());
  }
  if (t.sizes != nullptr) {
    runner_->mirror(t.scales, model_.scales.data());
    runner_->mirror(t.sizes, model_.sizes.data());
  }
  runner_->mirror(t.values, occupancy_.values().data());
  runner_->mirror(t.bits, model_.occupancy.data());
}

void Trainer::load_views() {
  const StepTensors& t = lists_->t;
  const ViewLoader views(scene_, t.views, pool_);
  views.tie(*runner_);
  runner_->allocate();
  views.write(*runner_);
  if (pixels_drawn_ >= 0) write_pixels();
  if (config_.total_variation > 0) {
    const std::vector<float> ones(size_t(TrainStep::kVariationPoints), 1.0F);
    runner_->write(t.ones, ones.data(), ones.size() * sizeof(float));
  }
  runner_->push();
  const auto occupied = int32_t(Occupancy::occupied(model_.occupancy));
  runner_->write(t.occupied, &occupied, sizeof occupied);
}

// By the number of the step, so that a run that is gone on with looks at the same pictures.
void Trainer::take_turns() {
  if (pool_ == nullptr || pool_->turns() >= step_ / kTurnEvery) return;
  const ViewLoader views(scene_, lists_->t.views, pool_);
  while (pool_->turns() < step_ / kTurnEvery)
    profile_.time("waiting for data", [&] { views.write_picture(*runner_, pool_->turn()); });
  views.write_places(*runner_);
}

void Trainer::resize_batch(int64_t all_samples) {
  const int64_t samples = all_samples / share_.parts;
  if (runner_ != nullptr) runner_->pull();  // what only the backend has
  runner_.reset();
  for (OptimizerState& m : moments_) std::fill(m.gradient.begin(), m.gradient.end(), 0.0F);
  config_.batch_samples = samples;
  config_.first_rays = std::min(config_.first_rays, samples);
  colored_ = false;
  part_ = 0;
  lists_ = std::make_unique<TrainStep>(config_, scene_.cascades, view_data(), sizes_, formats_);
  list_loss();
  try {
    const MemoryOwner owner("batch");
    runner_ = std::make_unique<Runner>(lists_->arena, backend_);
    tie_memory();
    load_views();
  } catch (...) {
    runner_.reset();
    throw;
  }
  rays_next_ = std::min(rays_next_, TrainStep::ray_capacity(config_) - 1);
}

StepReport Trainer::shared_loss_and_gradient() {
  if (share_.parts == 1) return loss_and_gradient();
  std::array<std::span<float>, 3> gradients;
  for (const Part part : kParts) {
    const Array<float>& g = moments_[size_t(part)].gradient;
    gradients[size_t(part)] = {g.data(), size_t(g.size())};
  }
  // Of a backend with memory of its own they are the host's copies.
  const bool elsewhere = !runner_->backend().in_host_memory;
  const auto pull = [&] {
    for (const Part part : kParts) gradient(part);
  };
  const auto push = [&] {
    for (const Part part : kParts)
      runner_->write(lists_->t.gradient[size_t(part)], gradients[size_t(part)].data(),
                     gradients[size_t(part)].size_bytes());
  };
  sums_.begin();
  std::array<double, 5> sums = {};
  for (int64_t i = 0; i < share_.own; ++i) {
    part_ = share_.first + i;
    const StepReport r = loss_and_gradient();
    const double numbers[] = {r.loss, double(r.rays), double(r.samples), double(r.marched),
                              r.finite ? 0.0 : 1.0};
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += numbers[k];
    pull();
    sums_.keep(gradients);
    if (elsewhere && share_.own > 1) push();
  }
  part_ = 0;
  profile_.time("sum over ranks", [&] { sums_.finish(share_, gradients, sums); });
  if (elsewhere) push();
  StepReport report;
  report.loss = sums[0] / double(share_.parts);
  report.rays = int64_t(sums[1]);
  report.samples = int64_t(sums[2]);
  report.marched = int64_t(sums[3]);
  report.finite = sums[4] == 0;  // of all parts, everywhere: all leave the step out together
  return report;
}

// Where others move parts of the table, in the host's memory.
void Trainer::complete_table() {
  runner_->wait();
  const Array<float>& table = model_.of(Part::table);
  profile_.time("parameters of ranks", [&] { share_.complete({table.data(), size_t(table.size())}); });
}

void Trainer::collect_state() {
  if (!share_.collect) return;
  const OptimizerState& m = moments_[size_t(Part::table)];
  const int64_t parameters = m.m.size();
  share_.collect(m.m.data(), sizeof(float), 1, parameters);
  share_.collect(m.v.data(), sizeof(float), 1, parameters);
  share_.collect(m.steps.data(), sizeof(int32_t), config_.features, parameters);
}

}  // namespace klab
