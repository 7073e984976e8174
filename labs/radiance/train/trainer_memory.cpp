// Of the trainer: where pictures and the batch lie, and what becomes of them when there is less memory than was thought.
#include <algorithm>
#include <new>

#include "labs/radiance/train/trainer.h"
#include "reference/draw_rays/draw_rays.h"

namespace klab {
namespace {

using PixelList = std::shared_ptr<const std::vector<int32_t>>;

/// The lists of pixels that have a ray, each once: views through one lens share theirs.
std::vector<PixelList> lists_with_ray(const Scene& scene) {
  std::vector<PixelList> lists;
  for (const View& v : scene.train)
    if (v.with_ray && std::ranges::find(lists, v.with_ray) == lists.end()) lists.push_back(v.with_ray);
  return lists;
}

/// How many elements one address lies behind another.
int64_t away(const void* p, const void* from, size_t size) {
  return (int64_t(reinterpret_cast<uintptr_t>(p)) - int64_t(reinterpret_cast<uintptr_t>(from))) /
         int64_t(size);
}

}  // namespace

TrainStep::Data Trainer::data_of(const Scene& scene, const PicturePool* pool) {
  TrainStep::Data data{.views = int64_t(scene.train.size())};
  for (const auto& list : lists_with_ray(scene)) data.listed += int64_t(list->size());
  for (const View& v : scene.train) {
    data.pixels += v.pixels();
    data.depth = data.depth || !v.depth.empty();
  }
  if (pool != nullptr) {
    data.views = int64_t(pool->places().size());
    data.pixels = pool->room();
    data.depth = false;
  }
  return data;
}

int64_t Trainer::bytes_of(const Scene& scene, const Config& c, const StepSizes& sizes, bool with_pictures) {
  TrainStep::Data data = data_of(scene, nullptr);
  if (!with_pictures) {
    data.pixels = data.views;
    data.depth = false;
  }
  return TrainStep(c, scene.cascades, data, sizes).arena.bytes();
}

void Trainer::load_views() {
  const StepTensors& t = lists_.t;
  // In the host's memory pictures stay where they are, and are found by how far they are from the first.
  const bool here = runner_->backend().in_host_memory;
  const uint8_t* first = pool_ != nullptr ? pool_->pixels() : nullptr;
  const float* first_depth = nullptr;
  if (pool_ == nullptr)
    for (const View& v : scene_.train) {
      if (first == nullptr || v.image.rgba.data() < first) first = v.image.rgba.data();
      if (!v.depth.empty() && (first_depth == nullptr || v.depth.data() < first_depth))
        first_depth = v.depth.data();
    }
  if (here) {
    runner_->mirror(t.image, const_cast<uint8_t*>(first));
    if (first_depth != nullptr) runner_->mirror(t.true_depth, const_cast<float*>(first_depth));
  }
  runner_->allocate();
  int64_t listed = 0;
  for (const PixelList& list : lists_with_ray(scene_)) {
    runner_->write(t.seen + listed, list->data(), list->size() * sizeof(int32_t));
    listed += int64_t(list->size());
  }
  write_views(here ? first : nullptr, first_depth);
  if (config_.total_variation > 0) {
    const std::vector<float> ones(size_t(TrainStep::kVariationPoints), 1.0F);
    runner_->write(lists_.ones(), ones.data(), ones.size() * sizeof(float));
  }
  runner_->push();
  const auto occupied = int32_t(Occupancy::occupied(model_.occupancy));
  runner_->write(t.occupied, &occupied, sizeof occupied);
}

// Cameras and places of the pictures that rays are drawn from; and, where they are not in the host's memory (`first` null),
// the pictures.
void Trainer::write_views(const uint8_t* first, const float* first_depth) {
  const StepTensors& t = lists_.t;
  constexpr auto kPlace = size_t(DrawRays::kPlace);
  const size_t views = pool_ != nullptr ? pool_->places().size() : scene_.train.size();
  const std::vector<PixelList> lists = lists_with_ray(scene_);
  std::vector<float> cameras(20 * views);
  std::vector<int64_t> places(kPlace * views);
  int64_t pixels = 0;
  for (size_t i = 0; i < views; ++i) {
    const View& v = scene_.train[pool_ != nullptr ? size_t(pool_->places()[i].view) : i];
    const Camera& c = v.camera;
    const float lens[8] = {c.fx, c.fy, c.cx, c.cy, c.k1, c.k2, c.p1, c.p2};
    std::copy(lens, lens + 8, cameras.data() + 20 * i);
    std::copy(c.pose.begin(), c.pose.end(), cameras.data() + 20 * i + 8);
    int64_t list_begin = 0;
    for (size_t k = 0; v.with_ray && lists[k] != v.with_ray; ++k) list_begin += int64_t(lists[k]->size());
    const int64_t begin = pool_ != nullptr   ? pool_->places()[i].first_pixel
                          : first != nullptr ? away(v.image.rgba.data(), first, 4)
                                             : pixels;
    const int64_t depth_begin = v.depth.empty() || pool_ != nullptr ? -1
                                : first != nullptr ? away(v.depth.data(), first_depth, sizeof(float))
                                                   : pixels;
    const int64_t own[kPlace] = {
        c.width, c.height, begin, depth_begin, v.places_with_ray(), v.with_ray ? list_begin : -1};
    std::copy(own, own + kPlace, places.data() + kPlace * i);
    if (first == nullptr) {
      const uint8_t* from = pool_ != nullptr ? pool_->pixels() + 4 * begin : v.image.rgba.data();
      runner_->write(t.image + 4 * begin, from, size_t(4 * v.pixels()));
      if (depth_begin >= 0)
        runner_->write(t.true_depth + pixels, v.depth.data(), v.depth.size() * sizeof(float));
    }
    pixels += v.pixels();
  }
  runner_->write(t.cameras, cameras.data(), cameras.size() * sizeof(float));
  runner_->write(t.places, places.data(), places.size() * sizeof(int64_t));
}

// By the number of the step, so that a run that is gone on with looks at the same pictures.
void Trainer::take_turns() {
  if (pool_ == nullptr || pool_->turns() >= step_ / kTurnEvery) return;
  while (pool_->turns() < step_ / kTurnEvery) profile_.time("waiting for data", [&] { pool_->turn(); });
  write_views(runner_->backend().in_host_memory ? pool_->pixels() : nullptr, nullptr);
}

void Trainer::resize_batch(int64_t all_samples) {
  const int64_t samples = all_samples / share_.parts;
  if (runner_ != nullptr) runner_->pull();  // what only the backend has
  runner_.reset();
  for (OptimizerState& m : moments_) std::fill(m.gradient.begin(), m.gradient.end(), 0.0F);
  config_.batch_samples = samples;
  config_.first_rays = std::min(config_.first_rays, samples);
  colored_ = false;
  lists_ = TrainStep(config_, scene_.cascades, data_of(scene_, pool_), sizes_);
  loss_ = lists_.loss(plan_.contains("composite_loss_bwd"));
  try {
    const MemoryOwner owner("batch");
    runner_ = std::make_unique<Runner>(lists_.arena, backend_);
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
  std::array<double, 4> sums = {};
  for (int64_t i = 0; i < share_.own; ++i) {
    part_ = share_.first + i;
    const StepReport r = loss_and_gradient();
    const double numbers[] = {r.loss, double(r.rays), double(r.samples), double(r.marched)};
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += numbers[k];
  }
  part_ = 0;
  profile_.time("sum over ranks", [&] { sum_gradients(sums); });
  StepReport report;
  report.loss = sums[0] / double(share_.parts);
  report.rays = int64_t(sums[1]);
  report.samples = int64_t(sums[2]);
  report.marched = int64_t(sums[3]);
  return report;
}

// Over all trainers that share the batch; then the mean of its parts.
void Trainer::sum_gradients(std::span<double> numbers) {
  std::array<std::span<float>, 3> gradients;
  for (const Part part : kParts) {
    Array<float>& g = gradient(part);
    gradients[size_t(part)] = {g.data(), size_t(g.size())};
  }
  if (share_.sum) share_.sum(gradients, numbers);
  const float scale = 1.0F / float(share_.parts);
  for (const Part part : kParts) {
    float* g = gradients[size_t(part)].data();
    const auto n = int64_t(gradients[size_t(part)].size());
#pragma omp parallel for schedule(static) if (n > 100000)
    for (int64_t i = 0; i < n; ++i) g[i] *= scale;
    if (!runner_->backend().in_host_memory)
      runner_->write(lists_.t.gradient[size_t(part)], g, size_t(n) * sizeof(float));
  }
}

}  // namespace klab
