// Cooperative launches. When all threads of a block wait for the grid, the block is set aside with its shared
// memory and the next one runs. When all blocks wait or have ended, they continue in turn.
#include <algorithm>
#include <cstring>

#include "harness/simt/async_block.h"
#include "harness/simt/executor.h"
#include "harness/simt/recording.h"
#include "harness/simt/trace.h"

namespace klab::simt {

void SharedShadow::all_defined() {
  for (size_t word = 0; word + 1 < cells_.size(); ++word) {
    touched_.push_back(uint32_t(word));
    cells_[word].defined = 0xF;
  }
}

Trace::ParkedBlock Trace::park() {
  settle();
  compiled_.block_ended();
  if (recording_ != nullptr) recording_->met(*executor_, Note::grid_met);
  ParkedBlock block{std::move(logs_), std::move(accesses_), barriers_};
  logs_.clear();
  return block;
}

void Trace::unpark(ParkedBlock block) {
  static_.forget();
  dynamic_.forget();
  static_.all_defined();
  dynamic_.all_defined();
  logs_ = std::move(block.logs);
  accesses_ = std::move(block.accesses);
  barriers_ = block.barriers;
  block_first_ = interval_ = next_interval();
  block_firsts_.push_back(block_first_);
  block_numbers_.push_back(executor_->block_number);
  clocks_.assign(executor_->warps(), WarpClock{});
  acquired_.clear();
  all_behind_flags();
  fences_ = fences_before_ = {};
  async_.turn_off();
}

void Trace::grid_synchronized() {
  launch_is_behind(next_interval());
  block_firsts_.clear();
  block_numbers_.clear();
  released_.clear();
}

struct Executor::Parked {
  bool ended = false;
  uint64_t number = 0;
  std::vector<Lane> lanes;
  std::vector<uint8_t> order;
  std::vector<char> fixed, dynamic;  // shared memory
  std::unique_ptr<AsyncBlock> async;
  Trace::ParkedBlock trace;
};

bool Executor::all_at_grid() const {
  bool any = false;
  for (unsigned t = 0; t < threads_; ++t) {
    any = any || lanes_[t].state == State::at_grid;
    if (lanes_[t].state != State::at_grid && lanes_[t].state != State::done) return false;
  }
  return any;
}

void Executor::park(Parked& to) {
  to.number = block_number;
  // Threads keep their addresses, because waiting code refers to them.
  to.lanes.assign(std::make_move_iterator(lanes_.begin()),
                  std::make_move_iterator(lanes_.begin() + threads_));
  to.order = order_;
  if (static_shared != nullptr) to.fixed.assign(static_shared, static_shared + static_shared_bytes);
  if (launch->shared_bytes > 0) to.dynamic.assign(dynamic_shared, dynamic_shared + launch->shared_bytes);
  to.async = std::move(async_);
  if (trace != nullptr) to.trace = trace->park();
}

void Executor::unpark(Parked& from) {
  take_block(from.number);
  std::move(from.lanes.begin(), from.lanes.end(), lanes_.begin());
  order_ = from.order;
  async_ = std::move(from.async);
  for (unsigned t = 0; t < threads_; ++t)
    if (lanes_[t].state == State::at_grid) lanes_[t].state = State::ready;
  if (trace != nullptr) trace->unpark(std::move(from.trace));
  if (!from.fixed.empty()) std::memcpy(static_shared, from.fixed.data(), from.fixed.size());
  if (!from.dynamic.empty()) std::memcpy(dynamic_shared, from.dynamic.data(), from.dynamic.size());
  progress_ = steps_;
}

void Executor::run_cooperative(const std::vector<uint64_t>& blocks) {
  std::vector<Parked> all(blocks.size());
  for (size_t k = 0; k < blocks.size(); ++k) {
    take_block(blocks[k]);
    begin_block();
    all[k].ended = run_block();
    if (!all[k].ended) park(all[k]);
  }
  for (;;) {
    const auto left = std::ranges::count(all, false, &Parked::ended);
    if (left == 0) return;
    if (size_t(left) < all.size()) {
      const auto first = std::ranges::find(all, false, &Parked::ended);
      take_block(first->number);
      const auto waits = std::ranges::find(first->lanes, State::at_grid, &Lane::state);
      report({.kind = Kind::barrier_divergence,
              .file = waits->file,
              .line = waits->line,
              .text = std::to_string(left) + " blocks wait for the grid, " +
                      std::to_string(all.size() - size_t(left)) + " have ended without reaching it"},
             &*waits);
    }
    if (trace != nullptr) trace->grid_synchronized();
    for (Parked& one : all) {
      if (one.ended) continue;
      unpark(one);
      one.ended = run_block();
      if (!one.ended) park(one);
    }
  }
}

void Executor::wait_for_grid(const char* file, int line) {
  if (!launch->cooperative)
    abandon(
        {.kind = Kind::deadlock,
         .file = file,
         .line = line,
         .text =
             "the grid is waited for in a launch that is not cooperative: use cudaLaunchCooperativeKernel"});
  Lane& l = *lane;
  l.state = State::at_grid;
  l.name = "grid.sync";
  l.file = file;
  l.line = line;
  suspend();
}

void grid_barrier(const char* file, int line) { running->wait_for_grid(file, line); }

}  // namespace klab::simt
