// Draws the trainer's pixels by their loss.
#include <stdexcept>

#include "labs/radiance/train/trainer.h"

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

void Trainer::run_loss(Profile& profile) {
  ops_->run("loss", plan_, profile, [&](Ops& ops) {
    programs_->find_samples(ops);
    if (errors_) errors_->weigh(ops, programs_->numbers, programs_->weight);
    programs_->learn_from_samples(ops);
  });
  memory_->wait();
}

// Draws the lists of a turn: by the present losses, or again by those that they were drawn by.
void Trainer::draw_lists(int64_t turn, bool again) {
  pixels_drawn_ = turn;
  errors_->write_turn(*memory_, seed_, uint64_t(turn));
  ops_->run(again ? "draw again" : "draw by error", plan_, profile_,
            [&](Ops& ops) { again ? errors_->draw_again(ops) : errors_->draw(ops); });
}

void Trainer::draw_pixels() {
  if (errors_ && pixels_drawn_ != step_ / kTurn) draw_lists(step_ / kTurn, false);
}

// Restores the lists after a checkpoint was read: between two drawings they are those of the last one.
void Trainer::draw_pixels_again() {
  pixels_drawn_ = -1;
  if (errors_ && step_ % kTurn != 0) draw_lists(step_ / kTurn, true);
}

void Trainer::learn_errors() {
  if (!errors_) return;
  ops_->run("errors", plan_, profile_,
            [&](Ops& ops) { errors_->learn(ops, programs_->numbers, programs_->value); });
}

}  // namespace klab
