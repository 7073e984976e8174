// Traces blocks that run concurrently (grid_run.h): the block of an interval, words shared by several host
// threads, and the results that a block delivers at its end.
#include <algorithm>

#include "harness/simt/trace.h"

namespace klab::simt {

void Trace::joins(Executor& executor, GridRun& grid) {
  grid_ = &grid;
  own_profile_ = std::make_unique<Profile>(&grid);
  begins(executor, grid.session, own_profile_.get(), grid.launch);
  interval_ = grid.first_interval();
  launch_is_behind(interval_);
  sites_of_block_.clear();
  is_of_block_.clear();
  edges_.clear();
}

void Trace::leaves() {
  launch_ended();
  grid_ = nullptr;
  cluster_ = nullptr;
  own_profile_.reset();
  profile_ = nullptr;
}

void Trace::learn(const std::vector<Flow::Edge>& news, size_t edges) {
  edges_.insert(edges_.end(), news.begin(), news.end());
  edges_.resize(edges);
}

void Trace::deliver(BlockResult& result) {
  result.barriers = own_record_.barriers;
  result.accesses = own_record_.thread_accesses;
  result.edges = flow_.news();
  result.sites.reserve(sites_of_block_.size());
  for (const uint16_t number : sites_of_block_) {
    Site& site = (*profile_)[number];
    result.sites.push_back(site);
    site.clear_counts();
    is_of_block_[number] = 0;
  }
  sites_of_block_.clear();
  own_record_ = {};
  // Reserve as many intervals as a block of this kernel needs: barriers begin new ones.
  for (const auto& [first, end] : chunks_) chunk_ = std::max(chunk_, end - first);
  const uint32_t used = interval_ - block_first_ + 1;
  if (chunks_.empty()) chunk_ = std::max(2U, used);
}

uint32_t Trace::next_interval() {
  if (grid_ == nullptr) return new_intervals(1);
  if (interval_ + 1 < chunk_end_) return interval_ + 1;
  chunks_.emplace_back(block_first_, interval_ + 1);
  chunk_ *= 2;
  block_first_ = grid_->intervals(executor_->turn, chunk_);
  chunk_end_ = block_first_ + chunk_;
  return block_first_;
}

bool Trace::is_of_my_block(uint32_t interval) const {
  if (interval >= block_first_ && interval <= interval_) return true;
  return std::ranges::any_of(
      chunks_, [=](const auto& chunk) { return interval >= chunk.first && interval < chunk.second; });
}

uint64_t Trace::turn_of(uint32_t interval) const {
  if (grid_ != nullptr) return grid_->turn_of(interval);
  const auto at = std::upper_bound(block_firsts_.begin(), block_firsts_.end(), interval);
  return uint64_t(at - block_firsts_.begin()) - 1;
}

uint64_t Trace::block_of(uint32_t interval) const {
  return grid_ != nullptr ? grid_->order[turn_of(interval)] : block_numbers_[turn_of(interval)];
}

bool Trace::comes_behind_me(uint32_t interval) const {
  return grid_ != nullptr && is_of_another(interval) && rank_of(interval) < 0 &&
         turn_of(interval) > executor_->turn;
}

const void* Trace::place_of(uint16_t site) const {
  return grid_ != nullptr ? grid_->place_of_site(site) : (*profile_)[site].pc;
}

}  // namespace klab::simt
