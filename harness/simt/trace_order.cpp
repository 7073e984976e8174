#include "harness/simt/trace_order.h"

#include <algorithm>

#include "harness/simt/cluster.h"
#include "harness/simt/trace.h"

namespace klab::simt {
namespace {

bool covers(const ThreadClocks& clocks, unsigned thread, uint16_t sync) {
  return thread < clocks.size() && (sync < clocks[thread] || clocks[thread] == 0xFFFF);
}

/// Returns whether the second clocks cover more than the first.
bool adds(const ThreadClocks& to, const ThreadClocks& from) {
  for (size_t t = 0; t < from.size(); ++t)
    if (from[t] > (t < to.size() ? to[t] : 0)) return true;
  return false;
}

void merge(ThreadClocks& to, const ThreadClocks& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (size_t t = 0; t < from.size(); ++t) to[t] = std::max(to[t], from[t]);
}

}  // namespace

void TraceOrder::launch_begins(Executor& executor, GridRun* grid) {
  TraceTime::launch_begins(executor, grid);
  released_.clear();
  released_threads_.clear();
}

void TraceOrder::block_begins() {
  TraceTime::block_begins();
  clocks_.assign(executor_->warps(), WarpClock{});
  acquired_.clear();
  meanwhile_seen_ = 0;
  all_behind_flags();
  fences_ = fences_before_ = {};
  async_.turn_off();
}

void TraceOrder::barrier_passed() {
  interval_ = next_interval();
  all_behind_flags();
  for (WarpClock& c : clocks_)
    if (c.now != 0) c = WarpClock{};
  if (async_.on()) async_.all_met(interval_);
  block_waited_for_launch_ = waited_for_launch_;
}

bool TraceOrder::warp_synchronized(unsigned warp, unsigned present) {
  WarpClock& c = clocks_[warp];
  if (c.now < 0xFFFF) ++c.now;
  const bool all = (present | executor_->ended(warp)) == ~0u;
  if (all) {
    c.full = c.now;
  } else {
    if (c.pairs.empty()) c.pairs.assign(32 * 32, 0);
    for (unsigned a = 0; a < 32; ++a)
      for (unsigned b = 0; b < 32; ++b)
        if (present >> a & present >> b & 1) c.pairs[a * 32 + b] = c.now;
  }
  for (unsigned a = 0; a < 32; ++a)
    if (present >> a & 1) c.any[a] = c.now;
  return all;
}

void TraceOrder::grid_synchronized() {
  launch_is_behind(next_interval());
  block_firsts_.clear();
  block_numbers_.clear();
  released_.clear();
}

void TraceOrder::fence(bool whole_device) {
  Lane& me = *executor_->lane;
  me.fenced = true;
  is_behind_flag(me.thread);
  WarpClock& clock = clocks_[me.warp];
  // Later accesses have a larger clock, so that the fence does not cover them. Beyond the limit it does.
  if (clock.now < kMostFences) ++clock.now;
  if (fenced_.size() <= me.thread) fenced_.resize(executor_->threads());
  const Fenced fence{interval_, uint16_t(clock.now < kMostFences ? clock.now : 0xFFFF), clock.full};
  fenced_[me.thread] = fence;
  if (!whole_device) return;
  me.fenced_at = interval_;
  if (fences_.interval != interval_) {
    fences_before_ = fences_;
    fences_ = {interval_, {}};
  }
  cover(fences_.threads, me.thread, fence);
}

bool TraceOrder::ordered(uint32_t interval, uint16_t who, uint16_t sync) const {
  if (interval < launch_first_) return unordered_at(interval) == nullptr;
  if (meanwhile_at(interval) != nullptr)
    return interval <= (unfenced_now_ != nullptr ? unfenced_now_->meanwhile : meanwhile_seen_);
  if (const int rank = rank_of(interval); rank >= 0) {
    if (who == AsyncOrder::kSeveral) return readers_are_over(interval, sync);
    if (unsigned(rank) != rank_)
      return (who != Cell::kGrid &&
              async_.is_over_in(unsigned(rank), executor_->lane->warp, interval, who, sync)) ||
             acquired(interval, who, sync);
  }
  if (!is_of_my_block(interval)) return acquired(interval, who, sync);
  if (who == Cell::kGrid) return false;
  if (AsyncOrder::is_agent(who)) return async_.is_over(executor_->lane->warp, interval, who, sync);
  if (who == AsyncOrder::kSeveral) return readers_are_over(interval, sync);
  if (interval != interval_) return true;
  if (async_.on() && async_.is_over(executor_->lane->warp, interval, who, sync)) return true;
  // Warps of a block may order themselves by fences and atomics too.
  if (who < ThreadSet().size() && acquired(interval, who, sync)) return true;
  if (warp_releases_in_ == interval_ && acquired_in_block(who, sync)) return true;
  const Lane& me = *executor_->lane;
  const WarpClock& clock = clocks_[me.warp];
  // Several readers are told apart once the block uses barriers of parts of it.
  if (who == Cell::kBlock) return async_.on();
  if (who & Cell::kWarp) return (who & 0xFF) == me.warp && sync < std::max(clock.full, clock.any[me.lane]);
  if (who == me.thread) return true;
  if (who / 32 != me.warp) return false;
  uint16_t last = clock.full;
  if (!clock.pairs.empty()) last = std::max(last, clock.pairs[size_t(who % 32) * 32 + me.lane]);
  return sync < last;
}

void TraceOrder::cover(ThreadClocks& clocks, unsigned thread, const Fenced& fence) const {
  clocks.resize(executor_->threads(), 0);
  const WarpClock& clock = clocks_[thread / 32];
  const unsigned first = thread / 32 * 32;
  for (unsigned t = first; t < std::min(first + 32, executor_->threads()); ++t) {
    uint16_t until = fence.full;
    if (!clock.pairs.empty()) until = std::max(until, clock.pairs[size_t(t % 32) * 32 + thread % 32]);
    clocks[t] = std::max(clocks[t], until);
  }
  clocks[thread] = std::max(clocks[thread], fence.until);
}

bool TraceOrder::acquired(uint32_t interval, uint16_t who, uint16_t sync) const {
  if (acquired_.empty()) return false;
  const uint64_t block = turn_of(interval);
  const auto is_in = [&](const std::vector<uint32_t>& until) {
    return block < until.size() && interval <= until[block];
  };
  if (!is_in(acquired_) || (unfenced_now_ != nullptr && !is_in(unfenced_now_->acquired))) return false;
  if (interval < acquired_[block] || who >= ThreadSet().size()) return true;  // or several readers
  const ReleasedThreads& threads = grid_ != nullptr ? grid_->released_threads : released_threads_;
  const auto at = threads.find(interval);
  return at == threads.end() || covers(at->second, who, sync);
}

bool TraceOrder::acquired_in_block(uint16_t who, uint16_t sync) const {
  const ThreadClocks& threads =
      unfenced_now_ != nullptr ? unfenced_now_->of_warps : warp_acquired_[executor_->lane->warp];
  if (who < ThreadSet().size()) return covers(threads, who, sync);
  if (who >= Cell::kGrid || (who & Cell::kWarp) == 0) return false;  // several warps
  const unsigned first = (who & 0xFFU) * 32, end = std::min(first + 32, executor_->threads());
  for (unsigned t = first; t < end; ++t)
    if (!covers(threads, t, sync)) return false;
  return true;
}

void TraceOrder::sees_flag(bool acquires) {
  const Lane& me = *executor_->lane;
  if (acquires) return is_behind_flag(me.thread);
  if (unfenced_.size() < executor_->threads()) unfenced_.resize(executor_->threads());
  Unfenced& mine = unfenced_[me.thread];
  if (mine.on) return;
  mine = {true, acquired_, warp_releases_in_ == interval_ ? warp_acquired_[me.warp] : ThreadClocks(),
          meanwhile_seen_};
  ++unfenced_count_;
}

void TraceOrder::sees_meanwhile(bool acquires) {
  const uint32_t last = last_meanwhile();
  if (last <= meanwhile_seen_) return;
  sees_flag(acquires);
  meanwhile_seen_ = last;
}

void TraceOrder::order_warps(const void* p, bool reads, bool writes, bool acquires) {
  const Lane& me = *executor_->lane;
  const bool releases = writes && me.thread < fenced_.size() && fenced_[me.thread].interval == interval_;
  if (warp_releases_in_ != interval_) {
    if (!releases) return;
    warp_releases_in_ = interval_;
    warp_releases_.clear();
    warp_acquired_.assign(executor_->warps(), {});
  }
  ThreadClocks& mine = warp_acquired_[me.warp];
  if (const auto at = warp_releases_.find(p); reads && at != warp_releases_.end() && adds(mine, at->second)) {
    sees_flag(acquires);
    merge(mine, at->second);
  }
  if (!releases) return;
  ThreadClocks& threads = warp_releases_[p];
  merge(threads, mine);
  cover(threads, me.thread, fenced_[me.thread]);
}

void TraceOrder::order_blocks(uintptr_t address, bool reads, bool writes, bool acquires) {
  Releases& released = grid_ != nullptr ? grid_->released : released_;
  const auto at = released.at.find(address);
  const size_t blocks = grid_ != nullptr ? executor_->turn + 1 : block_firsts_.size();
  if (reads && at != released.at.end()) {
    const auto& [first, until] = at->second;
    // Later blocks of a cluster may have released, too.
    acquired_.resize(std::max({acquired_.size(), blocks, first + until.size()}), 0);
    for (size_t b = 0; b < until.size(); ++b) {
      if (until[b] <= acquired_[first + b]) continue;
      if (first + b != blocks - 1) sees_flag(acquires);
      acquired_[first + b] = until[b];
    }
  } else if (reads && released.lost) {
    acquired_.assign(std::max(acquired_.size(), blocks), ~0U);
  }
  if (!writes) return;
  const Lane& me = *executor_->lane;
  ThreadClocks threads;
  uint32_t fenced = interval_;
  if (me.fenced_at == interval_) {
    cover(threads, me.thread, fenced_[me.thread]);
  } else {  // fences of other threads count if a barrier lies between
    const Fences& last = fences_.interval < interval_ ? fences_ : fences_before_;
    fenced = last.interval;
    threads = last.threads;
  }
  if (fenced == 0) return;
  merge((grid_ != nullptr ? grid_->released_threads : released_threads_)[fenced], threads);
  Releases::One& release = released.at[address];
  const size_t before = release.until.size();
  size_t first = 0;
  while (first < acquired_.size() && acquired_[first] == 0) ++first;
  if (first == acquired_.size()) first = blocks - 1;
  release.widen(std::min(first, blocks - 1), std::max(acquired_.size(), blocks));
  for (size_t b = release.first; b < acquired_.size(); ++b)
    release.until[b - release.first] = std::max(release.until[b - release.first], acquired_[b]);
  uint32_t& own = release.until[blocks - 1 - release.first];
  own = std::max(own, fenced);
  constexpr size_t kMost = size_t(1) << 24;
  if ((released.entries += release.until.size() - before) > kMost) {
    released.clear();
    released.lost = true;
  }
}

bool TraceOrder::has_fenced(bool shared) const {
  const Lane& me = *executor_->lane;
  if (!shared) return me.fenced;
  return me.thread < fenced_.size() && fenced_[me.thread].interval == interval_;
}

void TraceOrder::turn_on_async() {
  if (!async_.on())
    async_.turn_on(executor_->threads(), executor_->warps(), interval_,
                   cluster_ != nullptr ? cluster_->blocks() : 0,
                   cluster_ != nullptr ? &cluster_->readers : nullptr);
}

uint16_t TraceOrder::new_agent(AgentKind kind) {
  turn_on_async();
  return async_.new_agent(kind);
}

AsyncClocks TraceOrder::released() {
  turn_on_async();
  const Lane& me = *executor_->lane;
  WarpClock& clock = clocks_[me.warp];
  // As for a fence: later accesses have a larger clock.
  if (clock.now < kMostFences) ++clock.now;
  AsyncClocks all = async_.of(me.warp, interval_);
  cover(all.threads, me.thread,
        {interval_, uint16_t(clock.now < kMostFences ? clock.now : 0xFFFF), clock.full});
  return all;
}

void TraceOrder::acquired(const AsyncClocks& clocks) {
  turn_on_async();
  async_.of(executor_->lane->warp, interval_).merge(clocks);
  if (waited_for_launch_) executor_->lane->waited_for_launch = true;
}

void TraceOrder::agent_known(uint16_t agent, uint16_t until) {
  ThreadClocks& known = async_.of(executor_->lane->warp, interval_).agents;
  const size_t which = agent & 0xFFFU;
  if (known.size() <= which) known.resize(which + 1, 0);
  known[which] = std::max(known[which], until);
}

void TraceOrder::proxy_fenced() { async_.fenced(released()); }

AsyncOrder::Moment TraceOrder::now() const {
  const Lane& me = *executor_->lane;
  return {interval_, uint16_t(me.thread), clocks_[me.warp].now};
}

bool TraceOrder::comes_before_me(const AsyncOrder::Moment& m) const {
  return ordered(m.interval, m.thread, m.sync);
}

bool TraceOrder::readers_are_over(uint32_t interval, uint16_t set) const {
  const unsigned warp = executor_->lane->warp;
  return std::ranges::all_of(async_.readers()[set], [&](const ReaderSets::Reader& r) {
    const uint32_t when = r.interval != 0 ? r.interval : interval;
    const bool mine = cluster_ == nullptr || is_of_my_block(when);
    if (AsyncOrder::is_agent(r.who))
      return mine ? async_.is_over(warp, when, r.who, r.sync) : ordered(when, r.who, r.sync);
    if (mine && when != interval_) return true;
    for (uint32_t rest = r.lanes; rest != 0; rest &= rest - 1) {
      const unsigned thread = (r.who & 0xFFU) * 32 + unsigned(__builtin_ctz(rest));
      if (thread >= executor_->threads()) break;
      if (!ordered(when, uint16_t(thread), r.sync)) return false;
    }
    return true;
  });
}

bool TraceOrder::is_fenced(const Cell& c) const {
  const int rank = rank_of(c.write_interval);
  if (rank < 0 || unsigned(rank) == rank_) return async_.is_fenced(c.write_interval, c.writer, c.write_sync);
  const Trace& other = *(*cluster_)[unsigned(rank)].trace;
  return other.async_.is_fenced(c.write_interval, c.writer, c.write_sync) ||
         async_.is_fenced_in(unsigned(rank), c.write_interval, c.writer, c.write_sync);
}

}  // namespace klab::simt
