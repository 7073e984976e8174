// Draws the trainer's pixels by their loss.
#include <fmt/format.h>

#include <stdexcept>

#include "labs/radiance/train/trainer.h"
#include "reference/draw_rays/draw_rays.h"

namespace klab {
namespace {

constexpr int64_t kTurn = 16;  // steps from one drawing of the lists to the next

}  // namespace

std::optional<ErrorMap> error_map_of(const Config& config, const Scene& scene, const PicturePool* pool) {
  if (config.sampling != "error") return std::nullopt;
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

// With an error map the loss comes in two programs: rays are weighted in between.
void Trainer::run_loss(const StepNumbers& n, Profile& profile) {
  if (!errors_) {
    ops_->run("loss", plan_, profile, [&](Ops& ops) { programs_->loss_and_gradient(ops); });
  } else {
    ops_->run("samples", plan_, profile, [&](Ops& ops) { programs_->find_samples(ops); });
    std::vector<float> weights(size_t(n.rays));
    memory_->read(weights.data(), programs_->weight, weights.size() * sizeof(float));
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n.rays; ++r) {
      const DrawnPixel from = drawn_pixel(n.seed, n.step, r, errors_->views(), ErrorMap::kList);
      weights[size_t(r)] *= errors_->weight(from.view, from.place);
    }
    memory_->write(programs_->weight, weights.data(), weights.size() * sizeof(float));
    ops_->run("loss of samples", plan_, profile, [&](Ops& ops) { programs_->learn_from_samples(ops); });
  }
  memory_->wait();
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
  const ViewTensors& t = programs_->views;
  const int64_t before = view_data_of(scene_, pool_).listed;
  std::vector<int64_t> places(size_t(kPlace * errors_->views()));
  memory_->read(places.data(), t.places, places.size() * sizeof(int64_t));
  for (int64_t v = 0; v < errors_->views(); ++v) {
    places[size_t(kPlace * v + 4)] = ErrorMap::kList;
    places[size_t(kPlace * v + 5)] = before + v * ErrorMap::kList;
  }
  memory_->write(t.places, places.data(), places.size() * sizeof(int64_t));
  memory_->write(t.seen.from(before), errors_->pixels().data(), errors_->pixels().size_bytes());
}

void Trainer::learn_errors(const StepNumbers& after) {
  if (!errors_) return;
  std::vector<float> losses(size_t(after.whole));
  memory_->read(losses.data(), programs_->value, losses.size() * sizeof(float));
  for (int64_t r = 0; r < after.whole; ++r) {
    const DrawnPixel from = drawn_pixel(after.seed, after.step, r, errors_->views(), ErrorMap::kList);
    errors_->learn(from.view, from.place, losses[size_t(r)]);
  }
}

}  // namespace klab
