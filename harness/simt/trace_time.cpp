#include "harness/simt/trace_time.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "harness/simt/cluster.h"
#include "harness/simt/trace.h"

namespace klab::simt {
namespace {

std::atomic<uint32_t> last_interval{1};

}  // namespace

const InStreams* in_streams = nullptr;
std::atomic<bool> launch_before_was_waited_for{false};
std::atomic<bool> next_launch_was_triggered{false};

namespace {
std::mutex meanwhile_mutex;
std::deque<EarlierWork>& meanwhile() {  // by their intervals
  static auto& list = *new std::deque<EarlierWork>;
  return list;
}
std::atomic<uint32_t> meanwhile_last{0};
}  // namespace

void done_meanwhile(EarlierWork work) {
  const std::lock_guard lock(meanwhile_mutex);
  const uint32_t last = work.end - 1;
  meanwhile().push_back(std::move(work));
  meanwhile_last = last;
}
void nothing_meanwhile() {
  const std::lock_guard lock(meanwhile_mutex);
  meanwhile().clear();
  meanwhile_last = 0;
}
uint32_t last_meanwhile() { return meanwhile_last; }

const EarlierWork* TraceTime::meanwhile_at(uint32_t interval) {
  if (interval > meanwhile_last) return nullptr;
  const std::lock_guard lock(meanwhile_mutex);
  const auto at = std::ranges::find_if(
      meanwhile(), [=](const EarlierWork& w) { return interval >= w.first && interval < w.end; });
  return at == meanwhile().end() ? nullptr : &*at;
}

uint32_t TraceTime::new_intervals(uint32_t count) { return last_interval.fetch_add(count) + 1; }

void TraceTime::launch_begins(Executor& executor, GridRun* grid) {
  executor_ = &executor;
  grid_ = grid;
  block_firsts_.clear();
  block_numbers_.clear();
}

void TraceTime::block_begins() {
  if (grid_ == nullptr) {
    block_first_ = interval_ = next_interval();
    block_firsts_.push_back(block_first_);
    block_numbers_.push_back(executor_->block_number);
  } else {
    block_first_ = interval_ = grid_->intervals(executor_->turn, chunk_);
    chunk_end_ = block_first_ + chunk_;
    chunks_.clear();
  }
}

void TraceTime::block_delivered() {
  // Reserve as many intervals as a block of this kernel needs: barriers begin new ones.
  for (const auto& [first, end] : chunks_) chunk_ = std::max(chunk_, end - first);
  const uint32_t used = interval_ - block_first_ + 1;
  if (chunks_.empty()) chunk_ = std::max(2U, used);
}

uint32_t TraceTime::next_interval() {
  if (grid_ == nullptr) return new_intervals(1);
  if (interval_ + 1 < chunk_end_) return interval_ + 1;
  chunks_.emplace_back(block_first_, interval_ + 1);
  chunk_ *= 2;
  block_first_ = grid_->intervals(executor_->turn, chunk_);
  chunk_end_ = block_first_ + chunk_;
  return block_first_;
}

bool TraceTime::is_of_my_block(uint32_t interval) const {
  if (interval >= block_first_ && interval <= interval_) return true;
  return std::ranges::any_of(
      chunks_, [=](const auto& chunk) { return interval >= chunk.first && interval < chunk.second; });
}

bool TraceTime::comes_behind_me(uint32_t interval) const {
  return grid_ != nullptr && is_of_another(interval) && rank_of(interval) < 0 &&
         turn_of(interval) > executor_->turn;
}

uint64_t TraceTime::turn_of(uint32_t interval) const {
  if (grid_ != nullptr) return grid_->turn_of(interval);
  const auto at = std::upper_bound(block_firsts_.begin(), block_firsts_.end(), interval);
  return uint64_t(at - block_firsts_.begin()) - 1;
}

uint64_t TraceTime::block_of(uint32_t interval) const {
  return grid_ != nullptr ? grid_->order[turn_of(interval)] : block_numbers_[turn_of(interval)];
}

int TraceTime::rank_of(uint32_t interval) const {
  if (cluster_ == nullptr) return -1;
  if (is_of_my_block(interval)) return int(rank_);
  for (unsigned rank = 0; rank < cluster_->blocks(); ++rank) {
    const ClusterBlock& block = (*cluster_)[rank];
    if (rank != rank_ && block.begun && block.trace != nullptr && block.trace->is_of_my_block(interval))
      return int(rank);
  }
  return -1;
}

void TraceTime::launch_is_behind(uint32_t interval) {
  launch_first_ = all_over_before_ = interval;
  if (in_streams != nullptr && !in_streams->unordered.empty())
    all_over_before_ = in_streams->unordered.front().first;
}

const EarlierWork* TraceTime::unordered_at(uint32_t interval) const {
  if (interval < all_over_before_ || in_streams == nullptr) return nullptr;
  for (const EarlierWork& w : in_streams->unordered)
    if (interval >= w.first && interval < w.end && !(w.until_wait && has_waited_for_launch())) return &w;
  return nullptr;
}

bool TraceTime::has_waited_for_launch() const {
  return block_waited_for_launch_ || (executor_->lane != nullptr && executor_->lane->waited_for_launch);
}

void TraceTime::waited_for_launch_before() {
  launch_before_was_waited_for = true;
  executor_->lane->waited_for_launch = true;
  waited_for_launch_ = true;
}

}  // namespace klab::simt
