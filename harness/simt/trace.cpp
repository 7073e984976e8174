#include "harness/simt/trace.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "harness/simt/cluster.h"
#include "harness/simt/modules.h"
#include "harness/simt/recording.h"

namespace klab::simt {

Trace& trace_of_thread() {
  thread_local Trace one;
  return one;
}

Trace& trace_of_rank(unsigned rank) {
  thread_local std::vector<std::unique_ptr<Trace>> traces;
  while (traces.size() <= rank) traces.push_back(std::make_unique<Trace>());
  return *traces[rank];
}

void Trace::launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch) {
  cluster_ = nullptr;
  TraceAgents::launch_begins(executor, session, profile, launch, nullptr);
  interval_ = next_interval();
  launch_is_behind(interval_);
}

void Trace::launch_ended() {
  settle();
  shared_.launch_ended();
}

void Trace::joins(Executor& executor, GridRun& grid) {
  TraceAgents::launch_begins(executor, grid.session, count_.joins(grid), grid.launch, &grid);
  interval_ = grid.first_interval();
  launch_is_behind(interval_);
}

void Trace::leaves() {
  launch_ended();
  grid_ = nullptr;
  cluster_ = nullptr;
  count_.leaves();
}

void Trace::deliver(BlockResult& result) {
  count_.deliver(result);
  block_delivered();
}

void Trace::block_begins() {
  shared_.block_begins(*executor_);
  TraceAgents::block_begins();
  losses_.clear();
  waited_for_launch_ = block_waited_for_launch_ = false;
  count_.block_begins();
}

void Trace::block_ended() {
  settle();
  if (grid_ == nullptr) interval_ = next_interval();
  count_.block_ended();
}

Trace::ParkedBlock Trace::park() {
  settle();
  return count_.park();
}

void Trace::unpark(ParkedBlock block) {
  shared_.block_goes_on();
  count_.unpark(std::move(block));
  TraceOrder::block_begins();
}

void Trace::barrier_passed(const char*, int) {
  TraceOrder::barrier_passed();
  count_.barrier_passed();
}

void Trace::warp_synchronized(unsigned warp, unsigned present) {
  settle();
  if (!TraceOrder::warp_synchronized(warp, present)) return;
  segment_ended(warp);
  count_.warp_synchronized(warp);
}

void Trace::segment_ended(unsigned warp) {
  settle();
  count_.replay(warp, 0);
}

void Trace::segment_full(unsigned warp) {
  settle();
  count_.replay(warp, executor_->going_on(warp));
}

void Trace::step(const void* pc) {
  ++executor_->lane->steps;
  executor_->step(pc);
}

void Trace::block_entered(const void* pc) {
  Lane& lane = *executor_->lane;
  ++lane.steps;
  executor_->step(pc);
  if (unsettled_) index_was_bad();
  count_.block_entered(lane, pc);
}

void Trace::function_left() {
  if (unsettled_) index_was_bad();
  count_.function_left(*executor_->lane);
}

void Trace::atomic_at(const void* p, uint8_t how, bool acquires) {
  const bool writes = (how & kWrite) != 0, reads = !writes || (how & kAtomic) != 0;
  if (reads && last_meanwhile() != 0) sees_meanwhile(acquires);
  order_warps(p, reads, writes, acquires);
  const bool shared = shared_.holds(static_cast<const char*>(p));
  if (shared && cluster_ == nullptr) return;  // it is not visible to other blocks
  order_blocks(reinterpret_cast<uintptr_t>(shared ? cluster_->kept_at(p, rank_) : p), reads, writes,
               acquires);
}

void Trace::copy_issued(const AsyncCopy& copy) {
  if (Recording* const recording = count_.recording(); recording != nullptr) recording->is_copy(copy.site);
  if (copy.filled > 0) access(copy.from, copy.filled, kRead | kAsync, copy.site);
  access(copy.to, copy.bytes, kWrite | kAsync, copy.site);
  for (unsigned b = 0; b < copy.bytes; b += 4) {
    char* at = copy.to + b;
    if (shared_.dynamic.holds(at))
      shared_.dynamic.cell(at).in_flight = true;
    else if (shared_.fixed.holds(at))
      shared_.fixed.cell(at).in_flight = true;
  }
  std::memset(copy.to, 0xFF, copy.bytes);  // a thread that does not wait reads NaN
}

void Trace::copy_landed(const AsyncCopy& copy) {
  for (unsigned b = 0; b < copy.bytes; b += 4) {
    char* at = copy.to + b;
    if (!shared_.fixed.holds(at) && !shared_.dynamic.holds(at)) continue;
    Cell& cell = shared_.dynamic.holds(at) ? shared_.dynamic.cell(at) : shared_.fixed.cell(at);
    cell.in_flight = false;
    // The copy counts as a write of the waiting thread, made now.
    cell.write_interval = interval_;
    cell.writer = uint16_t(executor_->lane->thread);
    cell.write_sync = clocks_[executor_->lane->warp].now;
    cell.write_atomic = false;
    cell.defined = 0xF;
  }
}

namespace {

/// Returns whether a word that is read over and over has its last value still.
bool is_unchanged(Lane& lane, const char* p, size_t bytes) {
  uint64_t now = 0;
  const Allocation* a = is_device(p) ? owner_of(p) : device_variable_at(p);  // legal, but not known yet
  if (a == nullptr || !a->live || p < a->begin || p + bytes > a->begin + a->bytes) return false;
  std::memcpy(&now, p, std::min(bytes, sizeof now));
  return std::exchange(lane.spin_value, now) == now;
}

}  // namespace

Cell* Trace::cells_of(const char* c, size_t bytes, Space* space) {
  if (is_device(c)) {
    *space = Space::global;
    const Allocation* a = owner_of(c);
    if (a == nullptr || !a->live || a->given_back || a->shadow == nullptr || c < a->begin ||
        c + bytes > a->begin + a->bytes || (c - a->begin) % 4 != 0)
      return nullptr;
    return a->shadow + (c - a->begin) / 4;
  }
  *space = Space::shared;
  if (shared_.dynamic.holds(c))
    return c + bytes <= shared_.dynamic.begin() + shared_.dynamic.bytes() ? shared_.dynamic.cells(c, bytes)
                                                                          : nullptr;
  return shared_.fixed.holds(c) && shared_.is_the_kernels(c, bytes) ? shared_.fixed.cells(c, bytes) : nullptr;
}

void Trace::remember(TraceCount::KnownSite& known, const char* c, Space space) {
  known.bytes = 0;
  known.shared = nullptr;
  if (space == Space::global) {
    const Allocation* a = owner_of(c);
    if (reinterpret_cast<uintptr_t>(a->begin) % 4 != 0) return;
    known.begin = a->begin;
    known.bytes = a->bytes;
    known.cells = a->shadow;
  } else if (shared_.dynamic.holds(c)) {
    known.begin = shared_.dynamic.begin();
    known.bytes = shared_.dynamic.bytes();
    known.shared = &shared_.dynamic;
  } else if (const SharedVariable* v = shared_.variable_at(c); v != nullptr) {
    if (v->offset % 4 != 0) return;
    known.begin = shared_.fixed.begin() + v->offset;
    known.bytes = v->bytes;
    known.shared = &shared_.fixed;
  }
}

[[gnu::always_inline]] inline void Trace::watch_words(Cell* cells, const char* c, size_t bytes, uint8_t how,
                                                      uint16_t site, Space space, Lane& lane) {
  const bool held = grid_ != nullptr && space == Space::global;
  for (size_t at = 0; at < bytes; at += 4, ++cells)
    if (held) {
      executor_->access = {c, bytes};
      watch_held(*cells, const_cast<char*>(c + at), 0, 4, how, site);
    } else if (!seen_quickly(*cells, c + at, (how & kWrite) != 0, site, lane)) {
      executor_->access = {c, bytes};
      watch(*cells, const_cast<char*>(c + at), 0, 4, how, site, space == Space::shared);
    }
}

void Trace::access(const void* p, size_t bytes, uint8_t how, const void* pc) {
  const auto* c = static_cast<const char*>(p);
  Lane& lane = *executor_->lane;
  // Local memory: the thread's own stack.
  if (size_t(c - lane.stack) < kStackOfThread) {
    if (unsettled_) index_was_bad();
    return;
  }
  // The kernel's parameters.
  if ((how & kWrite) == 0 && c >= parameters_ && c + bytes <= parameters_ + parameter_bytes_) {
    if (unsettled_) index_was_bad();
    settle();
    return step(pc);
  }
  const bool plain = (how & ~kWrite) == 0 && (bytes == 4 || bytes == 8 || bytes == 16) && !unsettled_ &&
                     reinterpret_cast<uintptr_t>(p) % bytes == 0;
  if (!plain) return check_fully(p, bytes, how, pc);
  if (frees_seen_ != device_frees) {
    frees_seen_ = device_frees;
    count_.forget_memory();
  }
  Space space{};
  Cell* cells = cells_of(c, bytes, &space);
  if (cells == nullptr) return check_fully(p, bytes, how, pc);
  step(pc);
  const uint16_t site = site_of(pc, space, how, bytes);
  remember(count_.known_site(pc), c, space);
  watch_words(cells, c, bytes, how, site, space, lane);
  count_.log(lane, p, bytes, site);
}

template <unsigned bytes, bool write>
void Trace::plain_access(Executor& executor, Lane& lane, const void* p, const void* pc) {
  constexpr uint8_t how = write ? kWrite : kRead;
  const TraceCount::KnownSite& known = count_.known_site(pc);
  const auto off = size_t(static_cast<const char*>(p) - known.begin);
  if (known.pc != pc || off >= known.bytes || known.bytes - off < bytes ||
      reinterpret_cast<uintptr_t>(p) % bytes != 0 || (known.kind & (kWrite | kAtomic)) != how || unsettled_ ||
      frees_seen_ != device_frees.load(std::memory_order_relaxed))
    return access(p, bytes, how, pc);
  ++lane.steps;
  lane.spins = 0;
  executor.step(pc);
  const auto* c = static_cast<const char*>(p);
  const Space space = known.shared != nullptr ? Space::shared : Space::global;
  watch_words(known.shared != nullptr ? known.shared->cells(c, bytes) : known.cells + off / 4, c, bytes, how,
              known.site, space, lane);
  count_.log(lane, p, bytes, known.site);
}
template void Trace::plain_access<4, false>(Executor&, Lane&, const void*, const void*);
template void Trace::plain_access<4, true>(Executor&, Lane&, const void*, const void*);
template void Trace::plain_access<8, false>(Executor&, Lane&, const void*, const void*);
template void Trace::plain_access<8, true>(Executor&, Lane&, const void*, const void*);
template void Trace::plain_access<16, false>(Executor&, Lane&, const void*, const void*);
template void Trace::plain_access<16, true>(Executor&, Lane&, const void*, const void*);

void Trace::check_fully(const void* p, size_t bytes, uint8_t how, const void* pc) {
  const auto* c = static_cast<const char*>(p);
  Lane& lane = *executor_->lane;
  if (unsettled_) {
    judge();
    contained_.before_access(&lane, c, bytes, structure());
    unsettled_ = !contained_.empty() || bad_index_.lane != nullptr;
  }
  if ((how & kVolatile) != 0 && (how & kWrite) == 0)
    lane.polled(p, pc, !shared_.holds(c) && is_unchanged(lane, c, bytes));
  else if ((how & kAtomic) == 0)
    lane.spins = 0;
  step(pc);
  Cell* cells;
  const char* begin;
  bool shared = true;
  if (is_device(p)) {
    Allocation* a = allocation_at(p);
    if (a == nullptr || !a->live || a->given_back || c < a->begin || c + bytes > a->begin + a->bytes)
      return illegal(p, bytes, how, pc);
    cells = shadow_of(*a);
    begin = a->begin;
    shared = false;
  } else if (shared_.dynamic.holds(c)) {
    if (c + bytes > shared_.dynamic.begin() + shared_.dynamic.bytes()) return illegal(p, bytes, how, pc);
    cells = nullptr;
    begin = shared_.dynamic.begin();
  } else if (shared_.fixed.holds(c)) {
    if (!shared_.is_the_kernels(c, bytes)) return illegal(p, bytes, how, pc);
    cells = nullptr;
    begin = shared_.fixed.begin();
  } else if (cluster_ != nullptr && cluster_->peer_at(p).rank >= 0) {
    return access_peer(p, bytes, how, pc);
  } else {
    Allocation* variable = nullptr;
    if (is_constant(c, bytes, how, pc, &variable)) return;
    if (c + bytes > variable->begin + variable->bytes) return illegal(p, bytes, how, pc);
    cells = shadow_of(*variable);
    begin = variable->begin;
    shared = false;
  }
  if (unsettled_) index_was_bad();
  if ((bytes & (bytes - 1)) == 0 && bytes <= 16 && reinterpret_cast<uintptr_t>(p) % bytes != 0)
    misaligned(p, bytes, how, pc);
  const uint16_t site = site_of(pc, shared ? Space::shared : Space::global, how, bytes);
  executor_->access = {c, bytes};
  for (const char *at = c, *end = c + bytes; at < end;) {
    const size_t in_word = size_t(at - begin) % 4;
    const size_t n = std::min<size_t>(4 - in_word, size_t(end - at));
    Cell& cell = cells != nullptr            ? cells[size_t(at - begin) / 4]
                 : shared_.dynamic.holds(at) ? shared_.dynamic.cell(at)
                                             : shared_.fixed.cell(at);
    if (grid_ != nullptr && !shared)
      watch_held(cell, const_cast<char*>(at - in_word), unsigned(in_word), unsigned(in_word + n), how, site);
    else
      watch(cell, const_cast<char*>(at - in_word), unsigned(in_word), unsigned(in_word + n), how, site,
            shared);
    at += n;
  }
  count_.log(lane, p, bytes, site);
}

}  // namespace klab::simt
