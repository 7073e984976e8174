#include "harness/simt/async_order.h"

#include <algorithm>
#include <utility>

namespace klab::simt {
namespace {

void raise(ThreadClocks& to, const ThreadClocks& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (size_t k = 0; k < from.size(); ++k) to[k] = std::max(to[k], from[k]);
}

}  // namespace

void BlockClocks::merge(const BlockClocks& from) {
  raise(agents, from.agents);
  if (from.interval < interval) return;
  if (from.interval > interval) threads.clear();
  interval = from.interval;
  raise(threads, from.threads);
}

void AsyncClocks::merge(const AsyncClocks& from) {
  if (peers.size() < from.peers.size()) peers.resize(from.peers.size());
  for (size_t rank = 0; rank < from.peers.size(); ++rank) peers[rank].merge(from.peers[rank]);
  BlockClocks::merge(from);
}

AsyncClocks AsyncClocks::seen_by(unsigned from, unsigned to) const {
  AsyncClocks other;
  other.peers = peers;
  other.peers.resize(std::max<size_t>(other.peers.size(), std::max(from, to) + 1));
  other.peers[from] = *this;
  static_cast<BlockClocks&>(other) = std::exchange(other.peers[to], {});
  return other;
}

void AsyncOrder::turn_on(unsigned threads, unsigned warps, uint32_t interval, unsigned cluster,
                         ReaderSets* sets) {
  if (on_) return;
  on_ = true;
  agents_ = 0;
  AsyncClocks begin;
  begin.interval = interval;
  begin.threads.assign(threads, 0);
  begin.peers.resize(cluster);
  warps_.assign(warps, begin);
  own_sets_.clear();
  sets_ = sets != nullptr ? sets : &own_sets_;
  fences_.clear();
}

uint16_t AsyncOrder::new_agent(AgentKind kind) {
  const unsigned index = std::min(agents_, 0xFFFU);
  ++agents_;
  return uint16_t(kFirstAgent | unsigned(kind) << 12 | index);
}

AsyncClocks& AsyncOrder::of(unsigned warp, uint32_t interval) {
  AsyncClocks& c = warps_[warp];
  if (c.interval != interval) {
    c.interval = interval;
    std::ranges::fill(c.threads, uint16_t(0));
  }
  return c;
}

void AsyncOrder::all_met(uint32_t interval) {
  AsyncClocks all;
  for (const AsyncClocks& c : warps_) {
    raise(all.agents, c.agents);
    if (all.peers.size() < c.peers.size()) all.peers.resize(c.peers.size());
    for (size_t rank = 0; rank < c.peers.size(); ++rank) all.peers[rank].merge(c.peers[rank]);
  }
  for (unsigned w = 0; w < warps_.size(); ++w) {
    of(w, interval).agents = all.agents;
    warps_[w].peers = all.peers;
  }
}

bool AsyncOrder::is_over(unsigned warp, uint32_t interval, uint16_t who, uint16_t sync) const {
  const AsyncClocks& c = warps_[warp];
  if (is_agent(who)) return covers(c.agents, who & 0xFFFU, sync);
  return c.interval == interval && covers(c.threads, who, sync);
}

bool AsyncOrder::covers(const BlockClocks& c, uint32_t interval, uint16_t who, uint16_t sync) {
  if (is_agent(who)) return covers(c.agents, who & 0xFFFU, sync);
  if (interval != c.interval) return interval < c.interval;
  if ((who & Cell::kWarp) == 0) return covers(c.threads, who, sync);
  const unsigned first = (who & 0xFFU) * 32;
  for (unsigned t = first; t < std::min<size_t>(first + 32, c.threads.size()); ++t)
    if (!covers(c.threads, t, sync)) return false;
  return who < Cell::kGrid && first < c.threads.size();
}

bool AsyncOrder::is_over_in(unsigned rank, unsigned warp, uint32_t interval, uint16_t who,
                            uint16_t sync) const {
  const std::vector<BlockClocks>& peers = warps_[warp].peers;
  return rank < peers.size() && covers(peers[rank], interval, who, sync);
}

bool AsyncOrder::is_over_in(unsigned rank, uint32_t interval, uint16_t who, uint16_t sync) const {
  for (unsigned w = 0; w < warps_.size(); ++w)
    if (is_over_in(rank, w, interval, who, sync)) return true;
  return false;
}

namespace {

ReaderSets::Reader as_reader(const ReaderSets::Reading& r) {
  if (AsyncOrder::is_agent(r.who)) return {r.who, r.sync, 0, r.interval};
  if ((r.who & Cell::kWarp) != 0) return {r.who, r.sync, ~0U, r.interval};
  return {uint16_t(Cell::kWarp | r.who / 32U), r.sync, 1U << (r.who % 32), r.interval};
}

}  // namespace

void ReaderSets::clear() {
  sets_.assign(1, {});
  steps_.clear();
}

uint16_t ReaderSets::add(const Reading& before, const Reading& more) {
  constexpr size_t kMostSets = 60000;
  const Step step{
      uint64_t(before.who) << 48 | uint64_t(before.sync) << 32 | uint64_t(more.who) << 16 | more.sync,
      uint64_t(before.interval) << 32 | more.interval};
  if (const auto at = steps_.find(step); at != steps_.end()) return at->second;
  std::vector<Reader> all;
  if (before.who == AsyncOrder::kSeveral)
    all = sets_[before.sync];
  else
    all.push_back(as_reader(before));
  const Reader one = as_reader(more);
  const auto at = std::ranges::find_if(
      all, [&](const Reader& r) { return r.who == one.who && r.interval == one.interval; });
  if (at == all.end()) {
    all.push_back(one);
  } else {
    at->sync = std::max(at->sync, one.sync);
    at->lanes |= one.lanes;
  }
  // With too many sets the empty one is taken: its readers count as over.
  const auto number = uint16_t(sets_.size() < kMostSets ? sets_.size() : 0);
  if (number != 0) sets_.push_back(std::move(all));
  steps_.emplace(step, number);
  return number;
}

void AsyncOrder::fenced(const AsyncClocks& covered) {
  constexpr size_t kIntervals = 8;
  if (!fences_.empty() && fences_.back().interval == covered.interval) return fences_.back().merge(covered);
  if (fences_.size() == kIntervals) fences_.erase(fences_.begin());
  fences_.push_back(covered);
}

bool AsyncOrder::is_fenced(uint32_t interval, uint16_t thread, uint16_t sync) const {
  return std::ranges::any_of(fences_, [=](const AsyncClocks& f) {
    return f.interval > interval || (f.interval == interval && covers(f.threads, thread, sync));
  });
}

bool AsyncOrder::is_fenced_in(unsigned rank, uint32_t interval, uint16_t thread, uint16_t sync) const {
  return std::ranges::any_of(fences_, [=](const AsyncClocks& f) {
    return rank < f.peers.size() && covers(f.peers[rank], interval, thread, sync);
  });
}

}  // namespace klab::simt
