// Handles each access of a running kernel on the shortest path that it allows.
#include <algorithm>
#include <cstring>
#include <utility>

#include "harness/simt/cluster.h"
#include "harness/simt/seen_quickly.h"
#include "harness/simt/trace.h"
#include "harness/simt/unset.h"

namespace klab::simt {
namespace {

constexpr uint64_t kTurn = 16384;

uint8_t kind_of(uint8_t how, Space space) { return uint8_t((how & (kWrite | kAtomic)) | (4 << int(space))); }

}  // namespace

namespace {
/// Returns whether a word that is read over and over has its last value still.
bool is_unchanged(Lane& lane, const char* p, size_t bytes) {
  uint64_t now = 0;
  if (!is_device(p)) return false;  // legal, but not known yet
  const Allocation* a = owner_of(p);
  if (a == nullptr || !a->live || p < a->begin || p + bytes > a->begin + a->bytes) return false;
  std::memcpy(&now, p, std::min(bytes, sizeof now));
  return std::exchange(lane.spin_value, now) == now;
}
}  // namespace

uint16_t Trace::site_of(const void* pc, Space space, uint8_t how, size_t bytes) {
  const uint8_t kind = kind_of(how, space);
  KnownSite& known = known_site(pc);
  if (known.pc == pc && known.kind == kind) return known.site;
  const uint16_t site = profile_->site(pc, space, (how & kWrite) != 0, (how & kAtomic) != 0,
                                       (how & kMerges) != 0, unsigned(bytes));
  if (grid_ != nullptr) {
    if (is_of_block_.size() <= site) is_of_block_.resize(size_t(site) + 1, 0);
    if (!std::exchange(is_of_block_[site], uint8_t(1))) sites_of_block_.push_back(site);
  }
  // An asynchronous copy is also executed as written.
  if (how & (kVolatile | kAsync)) (*profile_)[site].is_volatile = true;
  known = {.pc = pc, .site = site, .kind = kind};
  return site;
}

/// Returns whether another block of the launch wrote the word, or has read it and this access writes.
bool Trace::meets_another(const Cell& c, uint8_t how) const {
  return is_of_another(c.write_interval) || ((how & kWrite) != 0 && is_of_another(c.read_interval));
}

void Trace::watch_held(Cell& cell, char* word, unsigned first, unsigned last, uint8_t how, uint16_t site) {
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
  if (dynamic_.holds(c))
    return c + bytes <= dynamic_.begin() + dynamic_.bytes() ? dynamic_.cells(c, bytes) : nullptr;
  return static_.holds(c) && is_the_kernels(c, bytes) ? static_.cells(c, bytes) : nullptr;
}

[[gnu::always_inline]] inline void Trace::log(Lane& lane, const void* p, size_t bytes, uint16_t site) {
  if (!counting_) {
    if (lane.steps % kTurn == 0) executor_->let_others_run();
    return;
  }
  if (compiled_.counts() && !lane.frames.empty()) compiled_.seen(site, lane.frames.back().block);
  ++accesses_[lane.thread];
  WarpLog& log = logs_[lane.warp];
  if (log.accessed(lane.lane, reinterpret_cast<uintptr_t>(p), uint32_t(bytes), site) >= kLongLog)
    executor_->let_others_run();
}

/// Caches the allocation or variable that this site last accessed.
void Trace::remember(KnownSite& known, const char* c, Space space) {
  known.bytes = 0;
  known.shared = nullptr;
  if (space == Space::global) {
    const Allocation* a = owner_of(c);
    if (reinterpret_cast<uintptr_t>(a->begin) % 4 != 0) return;
    known.begin = a->begin;
    known.bytes = a->bytes;
    known.cells = a->shadow;
  } else if (dynamic_.holds(c)) {
    known.begin = dynamic_.begin();
    known.bytes = dynamic_.bytes();
    known.shared = &dynamic_;
  } else if (!variables_.empty()) {
    const SharedVariable& v = variables_[variable_of_[static_.offset(c) / 4] - 1U];
    if (v.offset % 4 != 0) return;
    known.begin = static_.begin() + v.offset;
    known.bytes = v.bytes;
    known.shared = &static_;
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
    for (KnownSite& known : known_sites_) known.bytes = 0;
  }
  Space space{};
  Cell* cells = cells_of(c, bytes, &space);
  if (cells == nullptr) return check_fully(p, bytes, how, pc);
  step(pc);
  const uint16_t site = site_of(pc, space, how, bytes);
  remember(known_site(pc), c, space);
  watch_words(cells, c, bytes, how, site, space, lane);
  log(lane, p, bytes, site);
}

template <unsigned bytes, bool write>
void Trace::plain_access(Executor& executor, Lane& lane, const void* p, const void* pc) {
  constexpr uint8_t how = write ? kWrite : kRead;
  const KnownSite& known = known_site(pc);
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
  log(lane, p, bytes, known.site);
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
    lane.polled(p, pc, is_unchanged(lane, c, bytes));
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
  } else if (dynamic_.holds(c)) {
    if (c + bytes > dynamic_.begin() + dynamic_.bytes()) return illegal(p, bytes, how, pc);
    cells = nullptr;
    begin = dynamic_.begin();
  } else if (static_.holds(c)) {
    if (!is_the_kernels(c, bytes)) return illegal(p, bytes, how, pc);
    cells = nullptr;
    begin = static_.begin();
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
    Cell& cell = cells != nullptr     ? cells[size_t(at - begin) / 4]
                 : dynamic_.holds(at) ? dynamic_.cell(at)
                                      : static_.cell(at);
    if (grid_ != nullptr && !shared)
      watch_held(cell, const_cast<char*>(at - in_word), unsigned(in_word), unsigned(in_word + n), how, site);
    else
      watch(cell, const_cast<char*>(at - in_word), unsigned(in_word), unsigned(in_word + n), how, site,
            shared);
    at += n;
  }
  log(lane, p, bytes, site);
}

/// Handles an access to shared memory of another block of the cluster.
void Trace::access_peer(const void* p, size_t bytes, uint8_t how, const void* pc) {
  const auto* c = static_cast<const char*>(p);
  const Cluster::Place there = cluster_->peer_at(p);
  const ClusterBlock& block = (*cluster_)[unsigned(there.rank)];
  if (there.left < bytes) return illegal(p, bytes, how, pc);
  if (unsettled_) index_was_bad();
  if ((bytes & (bytes - 1)) == 0 && bytes <= 16 && reinterpret_cast<uintptr_t>(p) % bytes != 0)
    misaligned(p, bytes, how, pc);
  const uint16_t site = site_of(pc, Space::shared, how, bytes);
  owner_ = block.trace;
  if (block.ended) {
    Finding f{.kind = Kind::use_after_free,
              .text = std::string((how & kWrite) != 0 ? "writes " : "reads ") + name_in_shared(c, site) +
                      ", which has ended: its shared memory is gone"};
    place(f, pc);
    owner_ = this;
    executor_->report(std::move(f));
    return log(*executor_->lane, p, bytes, site);
  }
  executor_->access = {c, bytes};
  for (size_t done = 0; done < bytes;) {
    const size_t in_word = reinterpret_cast<uintptr_t>(there.own + done) % 4;
    const size_t n = std::min<size_t>(4 - in_word, bytes - done);
    watch(owner_->shared_cell(there.own + done - in_word), const_cast<char*>(c + done - in_word),
          unsigned(in_word), unsigned(in_word + n), how, site, true);
    done += n;
  }
  owner_ = this;
  uses_peer(unsigned(there.rank), pc, "", 0);
  log(*executor_->lane, p, bytes, site);
}

}  // namespace klab::simt
