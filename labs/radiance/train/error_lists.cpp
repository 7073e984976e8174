#include "labs/radiance/train/error_lists.h"

#include <stdexcept>

namespace klab {
namespace {

constexpr int64_t kTurn = 16;  // steps from one drawing of the lists to the next

}  // namespace

ErrorLists::ErrorLists(const Config& config, const Scene& scene, bool pictures_take_turns) {
  if (config.sampling != "error") return;
  if (pictures_take_turns)
    throw std::runtime_error(
        R"(config: "sampling" "error" needs all pictures in memory: give more --memory, or take "uniform")");
  map_.emplace(scene, config.error_share);
}

void ErrorLists::declare(Memory& memory, const RayStep& step, int64_t before) {
  if (map_) map_->declare(memory, step.views, before, step.rays);
}

void ErrorLists::write(Memory& memory) const {
  if (map_) map_->write(memory);
}

void ErrorLists::draw_turn(int64_t turn, bool again, uint64_t seed, const ProgramRunner& runner) {
  turn_ = turn;
  map_->write_turn(runner.memory, seed, uint64_t(turn));
  runner.run(again ? "draw again" : "draw by error",
             [&](Ops& ops) { again ? map_->draw_again(ops) : map_->draw(ops); });
}

void ErrorLists::draw(int64_t step, uint64_t seed, const ProgramRunner& runner) {
  if (map_ && turn_ != step / kTurn) draw_turn(step / kTurn, false, seed, runner);
}

void ErrorLists::draw_present(uint64_t seed, const ProgramRunner& runner) {
  if (turn_ >= 0) draw_turn(turn_, true, seed, runner);
}

void ErrorLists::draw_restored(int64_t step, uint64_t seed, const ProgramRunner& runner) {
  turn_ = -1;
  if (map_ && step % kTurn != 0) draw_turn(step / kTurn, true, seed, runner);
}

void ErrorLists::weigh(Ops& ops, const RayStep& step) const {
  if (map_) map_->weigh(ops, step.numbers, step.weight);
}

void ErrorLists::learn(const RayStep& step, const ProgramRunner& runner) const {
  if (!map_) return;
  runner.run("errors", [&](Ops& ops) { map_->learn(ops, step.numbers, step.value); });
}

std::vector<TensorView> ErrorLists::state() const { return map_ ? map_->state() : std::vector<TensorView>(); }

}  // namespace klab
