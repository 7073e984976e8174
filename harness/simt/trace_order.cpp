// Checks whether an access is ordered with the last ones to the same memory: races, undefined reads.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "harness/simt/cluster.h"
#include "harness/simt/layouts.h"
#include "harness/simt/modules.h"
#include "harness/simt/trace.h"
#include "harness/simt/unset.h"

namespace klab::simt {

/// Returns whether an access by `who` in that interval is ordered before the running thread's next access.
bool Trace::ordered(uint32_t interval, uint16_t who, uint16_t sync) const {
  if (interval < launch_first_) return unordered_at(interval) == nullptr;
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

void Trace::launch_is_behind(uint32_t interval) {
  launch_first_ = all_over_before_ = interval;
  if (in_streams != nullptr && !in_streams->unordered.empty())
    all_over_before_ = in_streams->unordered.front().first;
}

/// Returns the work of another stream that an interval of an earlier launch belongs to, if nothing orders this launch
/// behind it.
const EarlierWork* Trace::unordered_at(uint32_t interval) const {
  if (interval < all_over_before_ || in_streams == nullptr) return nullptr;
  for (const EarlierWork& w : in_streams->unordered)
    if (interval >= w.first && interval < w.end && !(w.until_wait && has_waited_for_launch())) return &w;
  return nullptr;
}

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

void Trace::cover(ThreadClocks& clocks, unsigned thread, const Fenced& fence) const {
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

bool Trace::acquired(uint32_t interval, uint16_t who, uint16_t sync) const {
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

bool Trace::acquired_in_block(uint16_t who, uint16_t sync) const {
  const ThreadClocks& threads =
      unfenced_now_ != nullptr ? unfenced_now_->of_warps : warp_acquired_[executor_->lane->warp];
  if (who < ThreadSet().size()) return covers(threads, who, sync);
  if (who >= Cell::kGrid || (who & Cell::kWarp) == 0) return false;  // several warps
  const unsigned first = (who & 0xFFU) * 32, end = std::min(first + 32, executor_->threads());
  for (unsigned t = first; t < end; ++t)
    if (!covers(threads, t, sync)) return false;
  return true;
}

void Trace::sees_flag(bool acquires) {
  const Lane& me = *executor_->lane;
  if (acquires) return is_behind_flag(me.thread);
  if (unfenced_.size() < executor_->threads()) unfenced_.resize(executor_->threads());
  Unfenced& mine = unfenced_[me.thread];
  if (mine.on) return;
  mine = {true, acquired_, warp_releases_in_ == interval_ ? warp_acquired_[me.warp] : ThreadClocks()};
  ++unfenced_count_;
}

/// Handles the order that an atomic or a flag creates between warps of its block.
void Trace::order_warps(const void* p, bool reads, bool writes, bool acquires) {
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

void Releases::One::widen(size_t from, size_t to) {
  if (until.empty()) first = from;
  if (from < first) {
    until.insert(until.begin(), first - from, 0);
    first = from;
  }
  if (to > first + until.size()) until.resize(to - first, 0);
}

/// Handles the order that an atomic or a flag creates: it releases what its block has fenced, and acquires what others have
/// released.
void Trace::atomic_at(const void* p, uint8_t how, bool acquires) {
  const bool writes = (how & kWrite) != 0, reads = !writes || (how & kAtomic) != 0;
  order_warps(p, reads, writes, acquires);
  const auto* c = static_cast<const char*>(p);
  const bool shared = static_.holds(c) || dynamic_.holds(c);
  if (shared && cluster_ == nullptr) return;  // it is not visible to other blocks
  const auto address = reinterpret_cast<uintptr_t>(shared ? cluster_->kept_at(p, rank_) : p);
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

/// Returns whether bytes of a word that nothing has written are padding of the structure that is read.
bool Trace::is_only_padding(const char* word, uint8_t missing, uint16_t site) const {
  const Executor::Aggregate& whole =
      executor_->aggregate.bytes != 0 ? executor_->aggregate : executor_->access;
  if (word + 4 <= whole.begin || word >= whole.begin + whole.bytes) return false;
  for (size_t b = 0; b < 4; ++b) {
    const auto at = size_t(word + b - whole.begin);
    if ((missing >> b & 1) != 0 && !is_padding(place_of(site), whole.bytes, at, at + 1)) return false;
  }
  return true;
}

/// Returns whether a byte that nothing has written is read with characters of a text before it: alone, or in a structure.
bool Trace::is_behind_text(const char* p) const {
  const size_t bytes = std::max(executor_->aggregate.bytes, executor_->access.bytes);
  if (owner_ != this || (bytes != 1 && bytes <= 4)) return false;
  if (const SharedShadow& shared = dynamic_.holds(p) ? dynamic_ : static_; shared.holds(p))
    return simt::is_behind_text(shared.begin(), p, [&](const char* q) { return shared.is_defined(q); });
  const Allocation* a = global_at(p);
  return a != nullptr && simt::is_behind_text(*a, size_t(p - a->begin));
}

namespace {
constexpr const char* kOfVariable = ", which has the value of a variable that was never set";
}

void Trace::watch(Cell& cell, char* word, unsigned first, unsigned last, uint8_t how, uint16_t site,
                  bool shared) {
  const bool whole = first == 0 && last == 4;
  const auto mask = uint8_t((1u << last) - (1u << first));
  if ((how & kWrite) == 0 || (how & kAtomic)) {
    const bool unset = is_unset(word) || (cell.split != 0 && is_unset_shifted(word));
    if (unset) cell.defined = 0;
    if (cell.in_flight && !(how & kAsync)) {
      Finding f{
          .kind = Kind::missing_wait,
          .text = AsyncOrder::is_agent(cell.writer)
                      ? "shared memory is read that a bulk copy may not have filled yet: the phase of the "
                        "mbarrier that it completes is not over"
                      : "shared memory is read that an asynchronous copy may not have filled yet: the thread "
                        "that "
                        "copied has not waited for it"};
      place(f, place_of(site));
      executor_->report(std::move(f));
    } else if ((cell.defined & mask) != mask && (shared || session_->options().share >= 1) &&
               !is_only_padding(word, uint8_t(mask & ~cell.defined), site) &&
               !is_behind_text(word + std::countr_zero(unsigned(mask & ~cell.defined)))) {
      Finding f{.kind = Kind::uninitialized};
      if (shared) {
        const Module* m = static_.holds(word) && !dynamic_.holds(word) ? module_at(place_of(site)) : nullptr;
        std::memset(word + first, 0xFF, last - first);  // hide the contents that an earlier block left
        f.text = "read of " +
                 (owner_ != this ? name_in_shared(word + first, site)
                  : m            ? shared_name(*m, static_.offset(word + first))
                                 : std::string("shared memory")) +
                 (unset ? kOfVariable : ", which no thread of the block has written");
      } else {
        const Allocation* a = global_at(word);
        f.text = "read of byte " + std::to_string(word + first - a->begin) + " of " + a->name +
                 (unset && a->home != Home::managed ? kOfVariable : ", which was never written");
      }
      place(f, place_of(site));
      executor_->report(std::move(f));
    }
  }
  if ((how & kWrite) && cell.in_flight) {
    Finding f{.kind = Kind::missing_wait,
              .text = how & kAsync
                          ? "an asynchronous copy to shared memory to which another one is still in flight"
                          : "shared memory is written while an asynchronous copy to it is in flight"};
    place(f, place_of(site));
    executor_->report(std::move(f));
  }
  if (how & kWrite) cell.defined |= mask;
  SplitCells& split = shared ? owner_->split_shared_ : grid_ != nullptr ? grid_->split : split_global_;
  const bool is_split =
      split.has(cell.split) && std::max(cell.write_interval, cell.read_interval) >= launch_first_;
  if (cell.split != 0 && !is_split && in_streams != nullptr) {
    // Bytes of the word were accessed by earlier launches; whose was which is not known any more.
    if (cell.write_interval < launch_first_) cell.write_interval = 0;
    if (cell.read_interval < launch_first_) cell.read_interval = 0;
  }
  if (whole && !is_split) {
    cell.split = 0;
    check_cell(cell, word, 4, how, site, shared);
    return;
  }
  if (!is_split) {
    Cell byte = cell;
    byte.split = 0;
    cell.split = split.add(byte);
  }
  for (unsigned b = first; b < last; ++b) {
    check_cell(split[cell.split][b], word + b, 1, how, site, shared);
  }
  // Note only when the word was touched; its byte cells know the rest.
  (how & kWrite ? cell.write_interval : cell.read_interval) = interval_;
}

namespace {
bool is_one(const char* p, unsigned bytes) {
  return p[0] == 1 && std::all_of(p + 1, p + bytes, [](char c) { return c == 0; });
}
}  // namespace

/// Volatile accesses let blocks pass flags to each other. Lanes of a warp do not go in step, so there they
/// order nothing. Between warps of a block they do if the writer fences; in shared memory since the last barrier. In global memory a
/// word that becomes 1 is a flag in any case: a reader that is too early reads it again.
bool Trace::is_excused(const Cell& c, bool with_writer, const char* p, unsigned bytes, uint8_t how,
                       bool shared) const {
  const uint32_t interval = with_writer ? c.write_interval : c.read_interval;
  const bool is_volatile = (how & (kAtomic | kStrong)) == 0;
  const bool other_is_volatile = with_writer ? c.write_volatile : c.read_volatile;
  if (!is_of_my_block(interval)) return true;
  if (!(shared ? is_volatile || other_is_volatile : is_volatile && other_is_volatile)) return true;
  const Lane& me = *executor_->lane;
  const uint16_t other = with_writer ? c.writer : c.reader;
  const bool same_warp =
      other < Cell::kWarp ? other / 32U == me.warp : other < Cell::kGrid && (other & 0xFFU) == me.warp;
  if ((how & kWrite) != 0) return !same_warp && has_fenced(shared);
  return (!same_warp && c.write_fenced) || (!shared && is_one(p, bytes));
}

/// Returns whether the running thread has executed a fence, in shared memory since the last barrier.
bool Trace::has_fenced(bool shared) const {
  const Lane& me = *executor_->lane;
  if (!shared) return me.fenced;
  return me.thread < fenced_.size() && fenced_[me.thread].interval == interval_;
}

void Trace::hint(uint16_t site) {
  if (is_hint_.size() <= site) is_hint_.resize(size_t(site) + 1, 0);
  if (!std::exchange(is_hint_[site], uint8_t(1))) session_->hint(place_of(site));
}

void Trace::were_hints(const Cell& c, const char* word) {
  const Lane& me = *executor_->lane;
  if (c.reader == me.thread && c.read_interval == interval_ && !c.read_atomic) hint(c.read_site);
  for (const Lane::PlainRead& read : me.plain_reads)
    if (read.word == word) hint(read.site);
}

void Trace::check_cell(Cell& c, const char* p, unsigned bytes, uint8_t how, uint16_t site, bool shared) {
  const Lane& me = *executor_->lane;
  const auto thread = uint16_t(me.thread);
  const bool atomic = (how & (kAtomic | kVolatile)) != 0;
  const bool only_volatile = atomic && (how & (kAtomic | kStrong)) == 0;
  if ((how & kDecides) != 0) were_hints(c, p);
  // Atomic and volatile accesses to data behind a flag are left alone.
  const bool plain = (how & (kAtomic | kVolatile | kAsync)) == 0;
  const struct Plain {
    const Unfenced*& now;
    ~Plain() { now = nullptr; }
  } reset{unfenced_now_};
  if (plain && unfenced_count_ != 0 && thread < unfenced_.size() && unfenced_[thread].on)
    unfenced_now_ = &unfenced_[thread];
  if (c.write_interval != 0 && !ordered(c.write_interval, c.writer, c.write_sync) &&
      !(atomic && c.write_atomic && is_excused(c, true, p, bytes, how, shared)))
    race(c, true, p, bytes, how, site, shared);
  if (how & kWrite) {
    if (c.read_interval != 0 && !ordered(c.read_interval, c.reader, c.read_sync) &&
        !(atomic && c.read_atomic && is_excused(c, false, p, bytes, how, shared)))
      race(c, false, p, bytes, how, site, shared);
    c.write_volatile = only_volatile;
    c.write_fenced = has_fenced(shared);
    c.write_interval = interval_;
    c.writer = thread;
    c.write_sync = clocks_[me.warp].now;
    c.write_site = site;
    c.write_atomic = atomic;
    c.by_agent = c.by_agent && (AsyncOrder::is_agent(c.reader) || c.reader == AsyncOrder::kSeveral);
    return;
  }
  if (!atomic && c.write_atomic && c.write_interval >= launch_first_) {
    Lane& lane = *executor_->lane;
    lane.plain_reads[lane.next_plain_read++ % lane.plain_reads.size()] = {p, site};
  }
  const uint16_t now = clocks_[me.warp].now;
  if (c.read_interval == 0 || ordered(c.read_interval, c.reader, c.read_sync)) {
    c.read_site = site;
    c.reader = thread;
    c.read_sync = now;
    c.read_atomic = atomic;
    c.read_volatile = only_volatile;
  } else {
    const bool same_block = c.reader != Cell::kGrid && is_of_my_block(c.read_interval);
    const bool same_cluster = c.reader != Cell::kGrid && rank_of(c.read_interval) >= 0;
    if (!same_block && !same_cluster && grid_ != nullptr) {
      // Keep the first reader, so that readers need not change the cell.
      if (c.reader != Cell::kGrid) c.read_sync = std::exchange(c.reader, Cell::kGrid);
      return;
    }
    if (((same_block && shared) || same_cluster) && async_.on() && c.reader != Cell::kBlock) {
      c.read_sync = async_.readers().add({c.reader, c.read_sync, reader_interval(c.read_interval)},
                                         {thread, now, reader_interval(interval_)});
      c.reader = AsyncOrder::kSeveral;
      c.by_agent = true;
      c.read_atomic = c.read_atomic && atomic;
      c.read_interval = interval_;
      c.read_site = site;
      return;
    }
    if (c.reader == c.writer) c.read_site = site;
    if (!same_block) {
      c.reader = Cell::kGrid;
    } else if (c.reader != Cell::kBlock) {
      const unsigned warp = c.reader & Cell::kWarp ? c.reader & 0xFFu : c.reader / 32u;
      c.reader = warp == me.warp ? uint16_t(Cell::kWarp | warp) : Cell::kBlock;
    }
    c.read_sync = std::max(c.read_sync, now);
    c.read_atomic = c.read_atomic && atomic;
    c.read_volatile = c.read_volatile || only_volatile;
  }
  c.read_interval = interval_;
}

void Trace::settle() {
  if (!unsettled_) return;
  judge();
  contained_.undo();
  unsettled_ = bad_index_.lane != nullptr;
}

void Trace::judge() {
  if (doubt_.p == nullptr) return;
  const bool changed = std::memcmp(doubt_.before, doubt_.p, doubt_.bytes) != 0;
  const bool is_flag = doubt_.may_be_flag && is_one(doubt_.p, doubt_.bytes);
  doubt_.p = nullptr;
  if (changed && !is_flag) executor_->add(doubt_.finding);
}

}  // namespace klab::simt
