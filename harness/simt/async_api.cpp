// Implements async_api.h: checks the operands of an instruction, and hands it to the running block's state.
#include "harness/simt/async_api.h"

#include <cstring>
#include <utility>

#include "harness/simt/async_block.h"
#include "harness/simt/cluster.h"
#include "harness/simt/modules.h"
#include "harness/simt/peer_barrier.h"
#include "harness/simt/recording.h"
#include "harness/simt/trace.h"

namespace klab::simt {

namespace {

AsyncBlock& block() { return running->async(); }

// The rank of a block in a cluster lies above an address of the shared window, plus one: 0 is the own block.
constexpr uint32_t kRankShift = 24;

// Addresses in PTX. If a program's kernel has one shared variable, or dynamic memory alone, it lies at 0, as on GPUs that reserve
// nothing for the system: programs use the number 0 without asking for the address. Otherwise dynamic memory lies behind the first
// 1024 bytes, and static variables of the module at the end of the 18 bits that a matrix descriptor has for an address, if they fit
// there, else beyond. Multiples of 1024 are those of the host's addresses.
constexpr uint32_t kDynamicAt = 1 << 10, kEnd = 1 << 18, kBeyond = 1 << 20;

struct StaticWindow {
  uint32_t first;     // address of the first variable
  size_t bytes;       // without dynamic memory, which is a variable of a program
  size_t hole, skip;  // offset of that, and its bytes
};
StaticWindow static_window(const Executor& e) {
  const size_t at = size_t(e.arena - e.static_shared);
  const bool holds_dynamic = e.arena != nullptr && at < e.static_shared_bytes;
  const size_t skip = holds_dynamic ? kProgramArena : 0, bytes = e.static_shared_bytes - skip;
  const bool fits = kDynamicAt + e.launch->shared_bytes + bytes + 2048 <= kEnd;
  const size_t own = reinterpret_cast<uintptr_t>(e.static_shared) % 1024;
  return {uint32_t((fits ? (kEnd - 1024 - bytes) / 1024 * 1024 : kBeyond) + own), bytes,
          holds_dynamic ? at : e.static_shared_bytes, skip};
}

/// What the running thread passes on to the block of that rank.
AsyncClocks clocks_for(unsigned rank, Passes passes) {
  if (running->trace == nullptr || passes != Passes::to_cluster) return {};
  return running->trace->released().seen_by(running->cluster->rank(), rank);
}

/// The memory that begins at address 0: the kernel's only static variable, or its dynamic memory; bytes 0: nothing.
struct ZeroRange {
  char* begin;
  size_t bytes;
};
ZeroRange at_zero(Executor& e) {
  Executor::AtZero& one = e.at_zero;
  if (!one.known && e.arena != nullptr) {
    one.known = true;
    std::vector<SharedVariable> fixed = shared_variables_of(e.launch->kernel);
    std::erase_if(fixed, [&](const SharedVariable& v) { return e.static_shared + v.offset == e.arena; });
    if (fixed.size() == 1 && e.launch->shared_bytes == 0) {
      one.offset = fixed[0].offset;
      one.bytes = fixed[0].bytes;
    } else if (fixed.empty()) {
      one.offset = size_t(e.dynamic_shared - e.static_shared);
      one.bytes = e.launch->shared_bytes;
    }
  }
  return {e.static_shared + one.offset, one.bytes};
}

struct ElectSlot {
  uint32_t leader;
};
void tell_leader(void* const* slots, unsigned present) {
  for (unsigned i = 0; i < 32; ++i)
    if (present >> i & 1) static_cast<ElectSlot*>(slots[i])->leader = unsigned(__builtin_ctz(present));
}

void issue_product(void* const* slots, unsigned present) {
  Executor& ex = *running;
  const auto* const* lanes = reinterpret_cast<const WarpGroups::Slot* const*>(slots);
  const WarpGroups::Slot& one = *lanes[__builtin_ctz(present)];
  if (present != ~0U)
    ex.end_launch({.kind = Kind::in_flight,
                   .file = one.file,
                   .line = one.line,
                   .text = "wgmma needs all 32 lanes of a warp, and some have ended or do not exist"});
  ex.async().groups.issue(ex.lane->warp, lanes);
}

void note_of_products(Note what, uint32_t left, int line) {
  if (running->trace != nullptr) running->trace->note(what, line, left);
}

struct GroupSlot {
  const char* file;
  int line;
};
void fence_products(void* const*, unsigned) { running->async().groups.fence(running->lane->warp); }
void commit_products(void* const* slots, unsigned present) {
  const auto& s = *static_cast<GroupSlot*>(slots[__builtin_ctz(present)]);
  running->async().groups.commit(running->lane->warp, s.file, s.line);
}

}  // namespace

uint32_t shared_address(const void* p) {
  const auto* c = static_cast<const char*>(p);
  Executor& e = *running;
  if (e.cluster != nullptr)
    if (const Cluster::Place there = e.cluster->peer_at(p); there.rank >= 0)
      return shared_address(there.own) | uint32_t(there.rank + 1) << kRankShift;
  if (const ZeroRange zero = at_zero(e); size_t(c - zero.begin) <= zero.bytes && zero.bytes > 0)
    return uint32_t(c - zero.begin);
  const size_t dynamic = size_t(c - e.dynamic_shared), off = size_t(c - e.static_shared);
  if (dynamic >= (e.arena != nullptr ? kProgramArena : e.launch->shared_bytes) &&
      off < e.static_shared_bytes) {
    const StaticWindow window = static_window(e);
    return uint32_t(window.first + (off < window.hole ? off : off - window.skip));
  }
  return kDynamicAt + uint32_t(dynamic);
}

void* shared_pointer(uint32_t address) {
  Executor& e = *running;
  const unsigned rank = (address >> kRankShift) - 1;
  if (e.cluster != nullptr && rank < e.cluster->blocks()) {
    void* const own = shared_pointer(address & ((1U << kRankShift) - 1));
    if (char* const p = e.cluster->at_rank(own, rank); p != nullptr) return p;
  }
  if (const ZeroRange zero = at_zero(e); address < zero.bytes) return zero.begin + address;
  const StaticWindow window = static_window(e);
  const size_t off = size_t(address) - window.first;
  if (address >= window.first && off < window.bytes)
    return e.static_shared + (off < window.hole ? off : off + window.skip);
  const int32_t behind = int32_t(address - kDynamicAt);
  if (behind >= 0 && size_t(behind) < e.launch->shared_bytes) return e.dynamic_shared + behind;
  // The lower half of a pointer: on a GPU that is the address too. It comes last, since memory of the host may lie where the lower
  // half of its pointers looks like an address of the window.
  for (const auto& [begin, bytes] : {std::pair(e.static_shared, e.static_shared_bytes),
                                     std::pair(e.dynamic_shared, e.launch->shared_bytes)})
    if (const uint32_t at = address - uint32_t(reinterpret_cast<uintptr_t>(begin));
        begin != nullptr && at < bytes)
      return begin + at;
  if (const ZeroRange zero = at_zero(e); zero.bytes > 0) return zero.begin + int32_t(address);
  return e.dynamic_shared + behind;
}

void mbarrier_init(void* p, uint32_t count, const char* file, int line) {
  block().init(p, count, file, line, __builtin_return_address(0));
}

void mbarrier_invalidate(void* p, const char* file, int line) { block().invalidate(p, file, line); }

uint64_t mbarrier_arrive(void* p, uint32_t count, Arrival how, int64_t bytes, const char* file, int line) {
  return mbarrier_arrive(p, count, how, bytes, file, line, Passes::to_cluster);
}

uint64_t mbarrier_arrive(void* p, uint32_t count, Arrival how, int64_t bytes, const char* file, int line,
                         Passes passes) {
  if (const PeerBarrier there = peer_barrier(p, "mbarrier.arrive", file, line);
      there.gone || there.barrier != nullptr) {
    if (there.gone) return 0;
    there.block->arrive_from_peer(*there.barrier, count, how, bytes, clocks_for(there.rank, passes), file,
                                  line);
    return 0;
  }
  return block().arrive(block().mbarrier_at(p, "mbarrier.arrive", file, line), count, how, bytes, file, line,
                        passes != Passes::nothing);
}

void mbarrier_transact(void* p, int64_t bytes, const char* file, int line) {
  const char* const name = bytes < 0 ? "mbarrier.complete_tx" : "mbarrier.expect_tx";
  const PeerBarrier there = peer_barrier(p, name, file, line);
  if (there.gone) return;
  if (there.barrier != nullptr) return there.block->transact(*there.barrier, bytes, file, line);
  block().transact(block().mbarrier_at(p, name, file, line), bytes, file, line);
}

bool mbarrier_wait(void* p, uint64_t state, const char* file, int line) {
  return mbarrier_wait(p, state, file, line, true);
}

bool mbarrier_wait(void* p, uint64_t state, const char* file, int line, bool acquires) {
  Mbarrier& b = block().mbarrier_at(p, "mbarrier.test_wait", file, line);
  return block().wait(b, {uint32_t(state >> 32), false}, file, line, acquires);
}

bool mbarrier_wait_parity(void* p, uint32_t parity, const char* file, int line) {
  return mbarrier_wait_parity(p, parity, file, line, true);
}

bool mbarrier_wait_parity(void* p, uint32_t parity, const char* file, int line, bool acquires) {
  Mbarrier& b = block().mbarrier_at(p, "mbarrier.try_wait", file, line);
  return block().wait(b, {parity, true}, file, line, acquires);
}

void fence_mbarrier_init() { block().inits_fenced(); }

void mbarrier_follows_copies(void* p, bool noinc, const char* file, int line) {
  Mbarrier& b = block().mbarrier_at(p, "cp.async.mbarrier.arrive", file, line);
  Lane& l = *running->lane;
  CopyInFlight c;
  c.file = file;
  c.line = line;
  c.arrivals = 1;
  c.pieces = std::exchange(l.copies, {});
  for (size_t& end : l.groups) end = 0;
  if (!noinc) ++b.pending;
  if (running->trace != nullptr)
    for (const AsyncCopy& piece : c.pieces)
      running->trace->agent_takes(piece.to, piece.bytes, b.agent,
                                  uint16_t(std::min<uint32_t>(b.phase, 0xFFFE)));
  block().copy_issued(b, std::move(c));
}

void grid_constant(const void* p, size_t bytes) { block().add_constant(p, bytes); }

void fence_proxy() {
  if (running->trace != nullptr) running->trace->proxy_fenced();
}

void wgmma(const Wgmma& what, const WgmmaRegisters& d, const uint32_t* a_registers, uint64_t a, uint64_t b,
           const char* file, int line) {
  note_of_products(Note::product, 0, line);
  WarpGroups::Slot slot{&what, &d, a_registers, a, b, file, line, __builtin_return_address(0)};
  running->wait_for_lanes(Meeting::matrix, ~0U, &slot, issue_product, "wgmma.mma_async", file, line);
}

void wgmma_fence(const char* file, int line) {
  running->wait_for_lanes(Meeting::matrix, ~0U, nullptr, fence_products, "wgmma.fence", file, line);
}

void wgmma_commit(const char* file, int line) {
  note_of_products(Note::product_commit, 0, line);
  GroupSlot slot{file, line};
  running->wait_for_lanes(Meeting::matrix, ~0U, &slot, commit_products, "wgmma.commit_group", file, line);
}

void wgmma_wait(int left, const char* file, int line) {
  running->wait_for_lanes(Meeting::matrix, ~0U, nullptr, nullptr, "wgmma.wait_group", file, line);
  block().groups.wait(left, file, line);
  note_of_products(Note::product_wait, uint32_t(left), line);
}

void named_barrier(uint32_t id, uint32_t threads, bool waits, const char* file, int line) {
  block().named_barrier(id, threads, waits, file, line);
}

void set_registers(uint32_t count, bool more, const char* file, int line) {
  block().set_registers(count, more, file, line);
}

bool elect(uint32_t mask, uint32_t* leader, const char* file, int line) {
  ElectSlot slot{0};
  running->wait_for_lanes(Meeting::vote, mask, &slot, tell_leader, "elect.sync", file, line);
  if (leader != nullptr) *leader = slot.leader;
  return slot.leader == running->lane->lane;
}

}  // namespace klab::simt
