// Draws the trainer's pixels by their loss.
#include <fmt/format.h>

#include <stdexcept>

#include "labs/radiance/train/trainer.h"
#include "reference/draw_rays/draw_rays.h"

namespace klab {
namespace {

constexpr int64_t kTurn = 16;  // steps from one drawing of the lists to the next

}  // namespace

std::optional<ErrorMap> error_map_of(const Config& config, const Scene& scene, const Backend& backend,
                                     const PicturePool* pool) {
  if (config.sampling != "error") return std::nullopt;
  if (!backend.in_host_memory)
    throw std::runtime_error(
        "--backend " + backend.name +
        R"(: the config's "sampling" "error" is for the processor only: take "uniform")");
  if (pool != nullptr)
    throw std::runtime_error(
        R"(config: "sampling" "error" needs all pictures in memory: give more --memory, or take "uniform")");
  return std::optional<ErrorMap>(std::in_place, scene, config.error_share);
}

ViewData Trainer::view_data() const {
  ViewData data = view_data_of(scene_, pool_);
  if (errors_) data.listed += errors_->listed();
  return data;
}

void Trainer::list_loss() {
  const bool fused = plan_.contains("composite_loss_bwd");
  seen_ = errors_ ? lists_->seen() : OpList();
  loss_ = errors_ ? lists_->shaded(fused) : lists_->loss(fused);
}

void Trainer::run_loss(const StepNumbers& n, Profile& profile) {
  if (errors_) {
    runner_->run(seen_, plan_, profile);
    std::vector<float> weights(size_t(n.rays));
    runner_->read(weights.data(), lists_->t.weight, weights.size() * sizeof(float));
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n.rays; ++r) {
      const DrawnPixel from = drawn_pixel(n.seed, n.step, r, errors_->views(), ErrorMap::kList);
      weights[size_t(r)] *= errors_->weight(from.view, from.place);
    }
    runner_->write(lists_->t.weight, weights.data(), weights.size() * sizeof(float));
  }
  runner_->run(loss_, plan_, profile);
  runner_->wait();
}

void Trainer::draw_pixels() {
  if (!errors_ || pixels_drawn_ == step_ / kTurn) return;
  pixels_drawn_ = step_ / kTurn;
  profile_.time("draw by error", [&] { errors_->draw(seed_, uint64_t(pixels_drawn_)); });
  write_pixels();
}

// Restores the lists after a checkpoint was read: between two drawings they are those of the last one.
void Trainer::draw_pixels_again() {
  if (!errors_) return;
  pixels_drawn_ = -1;
  if (step_ % kTurn == 0) return;
  pixels_drawn_ = step_ / kTurn;
  errors_->draw_again(seed_, uint64_t(pixels_drawn_));
  write_pixels();
}

// Writes the drawn lists after the lists of pixels with a ray, from which they are drawn.
void Trainer::write_pixels() {
  constexpr int64_t kPlace = DrawRays::kPlace;
  const ViewTensors& t = lists_->t.views;
  const int64_t before = view_data_of(scene_, pool_).listed;
  std::vector<int64_t> places(size_t(kPlace * errors_->views()));
  runner_->read(places.data(), t.places, places.size() * sizeof(int64_t));
  for (int64_t v = 0; v < errors_->views(); ++v) {
    places[size_t(kPlace * v + 4)] = ErrorMap::kList;
    places[size_t(kPlace * v + 5)] = before + v * ErrorMap::kList;
  }
  runner_->write(t.places, places.data(), places.size() * sizeof(int64_t));
  runner_->write(t.seen + before, errors_->pixels().data(), errors_->pixels().size_bytes());
}

void Trainer::learn_errors(const StepNumbers& after) {
  if (!errors_) return;
  std::vector<float> losses(size_t(after.whole));
  runner_->read(losses.data(), lists_->t.value, losses.size() * sizeof(float));
  for (int64_t r = 0; r < after.whole; ++r) {
    const DrawnPixel from = drawn_pixel(after.seed, after.step, r, errors_->views(), ErrorMap::kList);
    errors_->learn(from.view, from.place, losses[size_t(r)]);
  }
}

}  // namespace klab
