#include "harness/simt/trace_check.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "harness/simt/layouts.h"
#include "harness/simt/modules.h"
#include "harness/simt/program_symbols.h"

namespace klab::simt {

void TraceCheck::launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch,
                               GridRun* grid) {
  TraceFind::launch_begins(executor, session, profile, launch, grid);
  is_hint_.clear();
  if (grid == nullptr) split_global_.forget();
}

bool TraceCheck::meets_another(const Cell& c, uint8_t how) const {
  return is_of_another(c.write_interval) || ((how & kWrite) != 0 && is_of_another(c.read_interval));
}

void TraceCheck::watch_held(Cell& cell, char* word, unsigned first, unsigned last, uint8_t how,
                            uint16_t site) {
  HeldCell held(cell);
  const bool whole = first == 0 && last == 4, plain = (how & ~kWrite) == 0;
  if (whole && plain && seen_quickly(cell, word, (how & kWrite) != 0, site, *executor_->lane)) return;
  if (!executor_->its_turn && meets_another(cell, how)) {
    held.give();
    executor_->in_turn();
    held.take();
  }
  watch(cell, word, first, last, how, site, false);
}

bool TraceCheck::is_only_padding(const char* word, uint8_t missing, uint16_t site) const {
  const Executor::Aggregate& whole =
      executor_->aggregate.bytes != 0 ? executor_->aggregate : executor_->access;
  if (word + 4 <= whole.begin || word >= whole.begin + whole.bytes) return false;
  for (size_t b = 0; b < 4; ++b) {
    const auto at = size_t(word + b - whole.begin);
    if ((missing >> b & 1) != 0 && !is_padding(place_of(site), whole.bytes, at, at + 1)) return false;
  }
  return true;
}

bool TraceCheck::is_moved_by_library(bool is_value, uint8_t how, uint16_t site) const {
  if (how != kRead || owner_ != &shared_ || !unset_words_exist) return false;
  const LibraryPart part = library_part_at(place_of(site));
  return part != LibraryPart::none &&
         ((part == LibraryPart::merge && !is_value) || is_of_library(executor_->launch->kernel));
}

bool TraceCheck::is_behind_text(const char* p) const {
  const size_t bytes = std::max(executor_->aggregate.bytes, executor_->access.bytes);
  if (owner_ != &shared_ || (bytes != 1 && bytes <= 4)) return false;
  if (const SharedShadow& shared = shared_.dynamic.holds(p) ? shared_.dynamic : shared_.fixed;
      shared.holds(p))
    return simt::is_behind_text(shared.begin(), p, [&](const char* q) { return shared.is_defined(q); });
  const Allocation* a = global_at(p);
  return a != nullptr && simt::is_behind_text(*a, size_t(p - a->begin));
}

namespace {
constexpr const char* kOfVariable = ", which has the value of a variable that was never set";
}

void TraceCheck::read_unwritten(const Cell& cell, char* word, unsigned first, unsigned last, bool unset,
                                uint8_t how, uint16_t site, bool shared) {
  const auto missing = uint8_t(((1u << last) - (1u << first)) & ~unsigned(cell.defined));
  if (shared) unset = unset && cell.write_interval != 0;  // else fill_unset() has made it so
  if (shared && is_moved_by_library(unset, how, site)) return fill_unset(word, missing);
  if (is_only_padding(word, missing, site) || is_behind_text(word + std::countr_zero(unsigned(missing))))
    return;
  Finding f{.kind = Kind::uninitialized};
  if (shared) {
    const Module* m =
        shared_.fixed.holds(word) && !shared_.dynamic.holds(word) ? module_at(place_of(site)) : nullptr;
    std::memset(word + first, 0xFF, last - first);  // hide the contents that an earlier block left
    f.text = "read of " +
             (owner_ != &shared_ ? name_in_shared(word + first, site)
              : m                ? shared_name(*m, shared_.fixed.offset(word + first))
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

void TraceCheck::watch(Cell& cell, char* word, unsigned first, unsigned last, uint8_t how, uint16_t site,
                       bool shared) {
  const bool whole = first == 0 && last == 4;
  const auto mask = uint8_t((1u << last) - (1u << first));
  // A launch that was given up leaves words of global memory in flight. Reductions and atomics are made in any order.
  const bool in_flight =
      cell.in_flight &&
      (shared || (cell.write_interval >= launch_first_ && !((how & kAtomic) != 0 && cell.write_atomic)));
  if ((how & kWrite) == 0 || (how & kAtomic)) {
    const bool unset = is_unset(word) || (cell.split != 0 && is_unset_shifted(word));
    if (unset) cell.defined = 0;
    if (in_flight && !(how & kAsync)) {
      Finding f{
          .kind = Kind::missing_wait,
          .text = !shared ? "global memory is read that a bulk copy may not have written yet: "
                            "cp.async.bulk.wait_group, without .read, must come first"
                  : AsyncOrder::is_agent(cell.writer)
                      ? "shared memory is read that a bulk copy may not have filled yet: the phase of the "
                        "mbarrier that it completes is not over"
                      : "shared memory is read that an asynchronous copy may not have filled yet: the thread "
                        "that "
                        "copied has not waited for it"};
      place(f, place_of(site));
      executor_->report(std::move(f));
    } else if ((cell.defined & mask) != mask && !(shared && is_read_after_loss(cell, word))) {
      read_unwritten(cell, word, first, last, unset, how, site, shared);
    }
  }
  if ((how & kWrite) && in_flight) {
    Finding f{.kind = Kind::missing_wait,
              .text = !shared ? "global memory is written while a bulk copy to it is in flight: "
                                "cp.async.bulk.wait_group, without .read, must come first"
                      : how & kAsync
                          ? "an asynchronous copy to shared memory to which another one is still in flight"
                          : "shared memory is written while an asynchronous copy to it is in flight"};
    place(f, place_of(site));
    executor_->report(std::move(f));
  }
  if (how & kWrite) cell.defined |= mask;
  SplitCells& split = shared ? owner_->split : grid_ != nullptr ? grid_->split : split_global_;
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

bool TraceCheck::is_excused(const Cell& c, bool with_writer, const char* p, unsigned bytes, uint8_t how,
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

void TraceCheck::hint(uint16_t site) {
  if (is_hint_.size() <= site) is_hint_.resize(size_t(site) + 1, 0);
  if (!std::exchange(is_hint_[site], uint8_t(1))) session_->hint(place_of(site));
}

void TraceCheck::were_hints(const Cell& c, const char* word) {
  const Lane& me = *executor_->lane;
  if (c.reader == me.thread && c.read_interval == interval_ && !c.read_atomic) hint(c.read_site);
  for (const Lane::PlainRead& read : me.plain_reads)
    if (read.word == word) hint(read.site);
}

void TraceCheck::check_cell(Cell& c, const char* p, unsigned bytes, uint8_t how, uint16_t site, bool shared) {
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

}  // namespace klab::simt
