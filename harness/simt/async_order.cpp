#include "harness/simt/async_order.h"

#include <algorithm>

namespace klab::simt {
namespace {

void raise(ThreadClocks& to, const ThreadClocks& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (size_t k = 0; k < from.size(); ++k) to[k] = std::max(to[k], from[k]);
}

}  // namespace

void AsyncClocks::merge(const AsyncClocks& from) {
  raise(agents, from.agents);
  if (from.interval < interval) return;
  if (from.interval > interval) threads.clear();
  interval = from.interval;
  raise(threads, from.threads);
}

void AsyncOrder::turn_on(unsigned threads, unsigned warps, uint32_t interval) {
  if (on_) return;
  on_ = true;
  agents_ = 0;
  warps_.assign(warps, AsyncClocks{interval, ThreadClocks(threads, 0), {}});
  sets_.assign(1, {});
  steps_.clear();
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
  ThreadClocks agents;
  for (const AsyncClocks& c : warps_) raise(agents, c.agents);
  for (unsigned w = 0; w < warps_.size(); ++w) of(w, interval).agents = agents;
}

bool AsyncOrder::is_over(unsigned warp, uint32_t interval, uint16_t who, uint16_t sync) const {
  const AsyncClocks& c = warps_[warp];
  if (is_agent(who)) return covers(c.agents, who & 0xFFFU, sync);
  return c.interval == interval && covers(c.threads, who, sync);
}

AsyncOrder::Reader AsyncOrder::as_reader(uint16_t who, uint16_t sync) {
  if (is_agent(who)) return {who, sync, 0};
  if ((who & Cell::kWarp) != 0) return {who, sync, ~0U};
  return {uint16_t(Cell::kWarp | who / 32U), sync, 1U << (who % 32)};
}

uint16_t AsyncOrder::add_reader(uint16_t reader, uint16_t sync, uint16_t who, uint16_t now) {
  constexpr size_t kMostSets = 60000;
  const uint64_t step = uint64_t(reader) << 48 | uint64_t(sync) << 32 | uint64_t(who) << 16 | now;
  if (const auto at = steps_.find(step); at != steps_.end()) return at->second;
  std::vector<Reader> all;
  if (reader == kSeveral)
    all = sets_[sync];
  else
    all.push_back(as_reader(reader, sync));
  const Reader more = as_reader(who, now);
  const auto at = std::ranges::find(all, more.who, &Reader::who);
  if (at == all.end()) {
    all.push_back(more);
  } else {
    at->sync = std::max(at->sync, more.sync);
    at->lanes |= more.lanes;
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

}  // namespace klab::simt
