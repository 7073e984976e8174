// Is an access ordered with the last ones to the same memory? Races, undefined reads.
#include <algorithm>
#include <cstring>

#include "harness/simt/modules.h"
#include "harness/simt/trace.h"

namespace klab::simt {

/// Whether what happened then, by `who`, is ordered before the running thread's next access.
bool Trace::ordered(uint32_t interval, uint16_t who, uint16_t sync) const {
  if (interval < launch_first_) return true;
  if (interval < block_first_) return acquired(interval);
  if (who == Cell::kGrid) return false;
  if (interval < interval_) return true;
  const Lane& me = *executor_->lane;
  const WarpClock& clock = clocks_[me.warp];
  if (who == Cell::kBlock) return false;
  if (who & Cell::kWarp) return (who & 0xFF) == me.warp && sync < std::max(clock.full, clock.any[me.lane]);
  if (who == me.thread) return true;
  if (who / 32 != me.warp) return false;
  uint16_t last = clock.full;
  if (!clock.pairs.empty()) last = std::max(last, clock.pairs[size_t(who % 32) * 32 + me.lane]);
  return sync < last;
}

bool Trace::acquired(uint32_t interval) const {
  if (acquired_.empty()) return false;
  const auto at = std::upper_bound(block_firsts_.begin(), block_firsts_.end(), interval);
  const auto block = size_t(at - block_firsts_.begin()) - 1;
  return block < acquired_.size() && interval <= acquired_[block];
}

/// An atomic passes on what its block has fenced, and brings what others have.
void Trace::atomic_at(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  const auto at = std::find_if(released_.begin(), released_.end(),
                               [&](const Released& r) { return r.address == address; });
  const size_t blocks = block_firsts_.size();
  if (at != released_.end()) {
    if (acquired_.size() < blocks) acquired_.resize(blocks, 0);
    for (size_t b = 0; b < at->until.size(); ++b) acquired_[b] = std::max(acquired_[b], at->until[b]);
  }
  if (fenced_ == 0) return;
  auto& release = at != released_.end() ? *at : released_.emplace_back(Released{address, {}});
  release.until.resize(blocks, 0);
  for (size_t b = 0; b < acquired_.size(); ++b) release.until[b] = std::max(release.until[b], acquired_[b]);
  release.until[blocks - 1] = fenced_;
}

void Trace::watch(Cell& cell, char* word, unsigned first, unsigned last, uint8_t how, uint16_t site,
                  bool shared) {
  const bool whole = first == 0 && last == 4;
  const auto mask = uint8_t((1u << last) - (1u << first));
  if ((how & kWrite) == 0 || (how & kAtomic)) {
    if (cell.in_flight && !(how & kAsync)) {
      Finding f{
          .kind = Kind::missing_wait,
          .text =
              "shared memory is read that an asynchronous copy may not have filled yet: the thread that "
              "copied has not waited for it"};
      place(f, (*profile_)[site].pc);
      executor_->report(std::move(f));
    } else if ((cell.defined & mask) != mask && (shared || session_->options().share >= 1)) {
      Finding f{.kind = Kind::uninitialized};
      if (shared) {
        const Module* m =
            static_.holds(word) && !dynamic_.holds(word) ? module_at((*profile_)[site].pc) : nullptr;
        f.text = "read of " +
                 (m ? shared_name(*m, static_.offset(word + first)) : std::string("shared memory")) +
                 ", which no thread of the block has written";
      } else {
        const Allocation* a = global_at(word);
        f.text = "read of byte " + std::to_string(word + first - a->begin) + " of " + a->name +
                 ", which nobody has written";
      }
      place(f, (*profile_)[site].pc);
      executor_->report(std::move(f));
    }
  }
  if ((how & kWrite) && cell.in_flight) {
    Finding f{.kind = Kind::missing_wait,
              .text = how & kAsync
                          ? "an asynchronous copy to shared memory to which another one is still in flight"
                          : "shared memory is written while an asynchronous copy to it is in flight"};
    place(f, (*profile_)[site].pc);
    executor_->report(std::move(f));
  }
  if (how & kWrite) cell.defined |= mask;
  const bool is_split = cell.split != 0 && cell.split <= split_.size() &&
                        std::max(cell.write_interval, cell.read_interval) >= launch_first_;
  if (whole && !is_split) {
    cell.split = 0;
    check_cell(cell, word, 4, how, site, shared);
    return;
  }
  if (!is_split) {
    Cell byte = cell;
    byte.split = 0;
    split_.push_back({byte, byte, byte, byte});
    cell.split = uint32_t(split_.size());
  }
  for (unsigned b = first; b < last; ++b) {
    check_cell(split_[cell.split - 1][b], word + b, 1, how, site, shared);
  }
  // Only that the word was touched, and when: the bytes know the rest.
  (how & kWrite ? cell.write_interval : cell.read_interval) = interval_;
}

void Trace::check_cell(Cell& c, const char* p, unsigned bytes, uint8_t how, uint16_t site, bool shared) {
  const Lane& me = *executor_->lane;
  const auto thread = uint16_t(me.thread);
  // Volatile flags between blocks are an idiom; within a block they order nothing.
  const bool atomic = (how & kAtomic) != 0 || ((how & kVolatile) != 0 && !shared);
  if (c.write_interval != 0 && !(atomic && c.write_atomic) &&
      !ordered(c.write_interval, c.writer, c.write_sync))
    race(c, true, p, bytes, how, site, shared);
  if (how & kWrite) {
    if (c.read_interval != 0 && !(atomic && c.read_atomic) &&
        !ordered(c.read_interval, c.reader, c.read_sync))
      race(c, false, p, bytes, how, site, shared);
    c.write_interval = interval_;
    c.writer = thread;
    c.write_sync = clocks_[me.warp].now;
    c.write_site = site;
    c.write_atomic = atomic;
    return;
  }
  const uint16_t now = clocks_[me.warp].now;
  if (c.read_interval == 0 || ordered(c.read_interval, c.reader, c.read_sync)) {
    c.reader = thread;
    c.read_sync = now;
    c.read_atomic = atomic;
  } else {
    const bool same_block = c.read_interval >= block_first_ && c.reader != Cell::kGrid;
    if (!same_block) {
      c.reader = Cell::kGrid;
    } else if (c.reader != Cell::kBlock) {
      const unsigned warp = c.reader & Cell::kWarp ? c.reader & 0xFFu : c.reader / 32u;
      c.reader = warp == me.warp ? uint16_t(Cell::kWarp | warp) : Cell::kBlock;
    }
    c.read_sync = std::max(c.read_sync, now);
    c.read_atomic = c.read_atomic && atomic;
  }
  c.read_interval = interval_;
  c.read_site = site;
}

void Trace::race(const Cell& c, bool with_writer, const char* p, unsigned bytes, uint8_t how, uint16_t site,
                 bool shared) {
  const uint32_t interval = with_writer ? c.write_interval : c.read_interval;
  const SourceLine other = source_of((*profile_)[with_writer ? c.write_site : c.read_site].pc);
  Finding f{.kind = shared ? Kind::shared_race : Kind::global_race};
  std::string what = "memory";
  if (shared) {
    const Module* m = static_.holds(p) && !dynamic_.holds(p) ? module_at((*profile_)[site].pc) : nullptr;
    what = m ? shared_name(*m, static_.offset(p))
             : "dynamic shared memory, byte " + std::to_string(dynamic_.offset(p));
  } else if (const Allocation* a = global_at(p)) {
    what = a->name + ", byte " + std::to_string(p - a->begin);
  }
  f.text = std::string(how & kAtomic  ? "atomic access to "
                       : how & kWrite ? "writes "
                                      : "reads ") +
           what + ", which " + who(interval, with_writer ? c.writer : c.reader) +
           (with_writer ? " wrote" : " read") + " at line " + std::to_string(other.line) +
           (interval < block_first_           ? " with nothing between the blocks that orders them"
            : shared || interval == interval_ ? " with no barrier between"
                                              : "");
  place(f, (*profile_)[site].pc);
  if ((how & kWrite) && !(how & (kAtomic | kAsync)) && with_writer && !c.write_atomic) {
    // Two threads that write the same value do no harm. Whether it is the same shows after the write.
    if (doubt_.p != nullptr) return;
    doubt_.p = p;
    doubt_.bytes = bytes;
    std::memcpy(doubt_.before, p, bytes);
    doubt_.finding = executor_->placed(std::move(f));
    return;
  }
  executor_->report(std::move(f));
}

void Trace::settle() {
  if (doubt_.p == nullptr) return;
  const bool changed = std::memcmp(doubt_.before, doubt_.p, doubt_.bytes) != 0;
  doubt_.p = nullptr;
  if (changed) session_->add(doubt_.finding);
}

}  // namespace klab::simt
