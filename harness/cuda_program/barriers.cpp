// Phases of cuda::barrier: arrivals, waits, and copies that land when a phase ends (klab_cuda/phases.h).
//
// Accesses before an arrival are ordered before accesses after a wait. The executor tracks order by intervals
// that a whole block shares, and the end of a phase begins a new interval. So accesses that phases order are
// never reported as races. One error goes unnoticed: a thread that acts after the end of a phase without
// waiting for it counts as ordered.
//
// Programs that hand barriers to PTX functions, or to copies in bulk, have mbarriers of the executor instead
// (harness/simt/async_block.h), which order each warp.
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "harness/simt/async_api.h"
#include "harness/simt/async_block.h"
#include "harness/simt/executor.h"
#include "harness/simt/trace.h"
#include "klab_cuda/phases.h"

namespace klab::program {
namespace {

/// The 8 bytes of a barrier. Uninitialized memory does not begin with the mark.
struct PhaseWord {
  static constexpr uint64_t kMark = 0xBA44;
  unsigned phase = 0, expected = 0, pending = 0;

  static bool is_one(uint64_t bits) { return bits >> 48 == kMark; }
  explicit PhaseWord(uint64_t bits)
      : phase(unsigned(bits >> 40 & 0xFF)),
        expected(unsigned(bits >> 20) & kMostArrivals),
        pending(unsigned(bits) & kMostArrivals) {}
  uint64_t bits() const {
    return kMark << 48 | uint64_t(phase & 0xFF) << 40 | uint64_t(expected) << 20 | pending;
  }
};

/// The phase that a thread waits for.
struct PhaseWait {
  const uint64_t* word = nullptr;  // nullptr: it does not wait
  unsigned phase = 0;
  bool by_parity = false;

  bool is_over() const {
    const unsigned current = PhaseWord(*word).phase;
    return by_parity ? (current & 1) != phase : current != phase;
  }
};

struct PhasesOfBlock {
  std::map<std::pair<uint64_t, const void*>, std::vector<simt::AsyncCopy>> copies;  // by block and barrier
  std::array<PhaseWait, 1024> waiting;                                              // by thread
};
PhasesOfBlock& phases() {
  thread_local PhasesOfBlock one;
  return one;
}
std::pair<uint64_t, const void*> phase_key(const void* word) { return {simt::running->block_number, word}; }

bool handed_out = false;

/// Returns whether PTX functions know the barrier, which mbarrier.init has then made.
bool is_mbarrier(const uint64_t* word) {
  return handed_out && !PhaseWord::is_one(*word) && simt::AsyncBlock::is_barrier(*word);
}
uint64_t* writable(const uint64_t* word) { return const_cast<uint64_t*>(word); }

/// Returns the barrier's state. The read is watched as an access to the barrier's word.
PhaseWord known_phase(const uint64_t* word, uint8_t how, const char* file, int line, const void* pc) {
  simt::Executor& ex = *simt::running;
  if (!PhaseWord::is_one(*word))
    ex.abandon({.kind = simt::Kind::uninitialized,
                .file = file,
                .line = line,
                .text = "a cuda::barrier that no init() has set up"});
  if (ex.trace != nullptr) ex.trace->access(word, 8, uint8_t(how | simt::kAtomic), pc);
  return PhaseWord(*word);
}

bool meeting_can_be_held(simt::Executor& ex, const simt::Lane& l) {
  if (l.what == simt::Meeting::active) return true;
  unsigned present = 0;
  for (unsigned k = 0; k < 32 && l.warp * 32 + k < ex.threads(); ++k) {
    const simt::Lane& other = ex.lane_of(l.warp, k);
    const bool same = other.state == simt::State::meeting && other.what == l.what && other.mask == l.mask;
    present |= unsigned(same) << k;
  }
  return (l.mask & ~ex.ended(l.warp) & ~present) == 0;
}

/// Returns whether no thread of the block can ever continue. The running thread waits.
bool nobody_goes_on(simt::Executor& ex) {
  for (unsigned t = 0; t < ex.threads(); ++t) {
    const simt::Lane& l = ex.lane_of(t / 32, t % 32);
    switch (l.state) {
      case simt::State::fresh:
        return false;
      case simt::State::ready: {
        const PhaseWait& w = phases().waiting[t];
        if (w.word == nullptr || w.is_over()) return false;
        break;
      }
      case simt::State::meeting:
        if (meeting_can_be_held(ex, l)) return false;
        break;
      default:
        break;
    }
  }
  return true;
}

[[noreturn]] void say_deadlock(simt::Executor& ex, const uint64_t* word, const char* file, int line) {
  const PhaseWord w(*word);
  unsigned ended = 0;
  std::string elsewhere;
  for (unsigned t = 0; t < ex.threads(); ++t) {
    const simt::Lane& l = ex.lane_of(t / 32, t % 32);
    ended += l.state == simt::State::done;
    if (elsewhere.empty() && (l.state == simt::State::at_barrier || l.state == simt::State::meeting ||
                              l.state == simt::State::at_grid))
      elsewhere = std::string("; thread ") + std::to_string(t) + " waits in " + l.name + " at line " +
                  std::to_string(l.line);
  }
  ex.abandon({.kind = simt::Kind::deadlock,
              .file = file,
              .line = line,
              .text = "waits for a phase of a cuda::barrier of which " + std::to_string(w.pending) + " of " +
                      std::to_string(w.expected) +
                      " arrivals are missing, and no thread of the block can go on" +
                      (ended > 0 ? "; " + std::to_string(ended) + " threads have ended" : "") + elsewhere});
}

void wait_for_phase(const PhaseWait& what, const char* file, int line, const void* pc) {
  known_phase(what.word, simt::kRead, file, line, pc);
  simt::Executor& ex = *simt::running;
  const unsigned me = ex.lane->thread;
  for (uint64_t turns = 1; !what.is_over(); ++turns) {
    phases().waiting[me] = what;
    const bool look = turns >= 4 && ((turns & (turns - 1)) == 0 || turns % 64 == 0);
    if (look && nobody_goes_on(ex)) say_deadlock(ex, what.word, file, line);
    ex.step(pc);
    ex.let_others_run();
  }
  phases().waiting[me] = {};
}

void land_copies(simt::Executor& ex, const void* word) {
  const auto at = phases().copies.find(phase_key(word));
  if (at == phases().copies.end()) return;
  for (const simt::AsyncCopy& c : at->second) {
    std::memcpy(c.to, c.from, c.filled);
    std::memset(c.to + c.filled, 0, c.bytes - c.filled);
    if (ex.trace != nullptr) ex.trace->copy_landed(c);
  }
  phases().copies.erase(at);
}

}  // namespace

bool barriers_are_handed_out() { return handed_out = true; }

void phases_begin(uint64_t* word, unsigned expected, const char* file, int line, bool with_completion) {
  simt::Executor& ex = *simt::running;
  if (handed_out && !with_completion && ex.is_shared(word, 8))
    return ex.async().init(word, expected, file, line, __builtin_return_address(0));
  if (ex.trace != nullptr) ex.trace->access(word, 8, simt::kWrite, __builtin_return_address(0));
  PhaseWord w(0);
  w.expected = w.pending = expected;
  *word = w.bits();
  // Remove what an aborted launch left.
  phases().waiting.fill({});
  phases().copies.erase(phase_key(word));
}

unsigned phase_arrive(uint64_t* word, unsigned count, unsigned drop, void (*completion)(void*),
                      void* argument, const char* file, int line) {
  if (is_mbarrier(word)) {
    const auto how = drop > 0 ? simt::Arrival::drop : simt::Arrival::plain;
    return unsigned(simt::mbarrier_arrive(word, count, how, 0, file, line) >> 32);
  }
  PhaseWord w = known_phase(word, simt::kWrite, file, line, __builtin_return_address(0));
  simt::Executor& ex = *simt::running;
  if (count > w.pending) {
    ex.report({.kind = simt::Kind::barrier_divergence,
               .file = file,
               .line = line,
               .text = "arrives " + std::to_string(count) +
                       " times at a cuda::barrier whose phase waits for " + std::to_string(w.pending) +
                       " of " + std::to_string(w.expected) + " arrivals"});
    count = w.pending;
  }
  const unsigned phase = w.phase;
  w.pending -= count;
  w.expected -= drop < w.expected ? drop : w.expected;
  if (w.pending > 0 || count == 0) {
    *word = w.bits();
    return phase;
  }
  if (completion != nullptr) completion(argument);
  land_copies(ex, word);
  w.pending = w.expected;
  ++w.phase;
  *word = w.bits();
  if (ex.trace != nullptr) ex.trace->barrier_passed(file, line);
  return phase;
}

unsigned phase_arrive_tx(uint64_t* word, unsigned count, int64_t bytes, const char* file, int line) {
  if (!is_mbarrier(word)) known_phase(word, simt::kRead, file, line, __builtin_return_address(0));
  if (count == 1)
    return unsigned(simt::mbarrier_arrive(word, 1, simt::Arrival::expect, bytes, file, line) >> 32);
  simt::mbarrier_transact(word, bytes, file, line);
  return unsigned(simt::mbarrier_arrive(word, count, simt::Arrival::plain, 0, file, line) >> 32);
}

void phase_wait(const uint64_t* word, unsigned phase, const char* file, int line) {
  if (is_mbarrier(word)) {
    while (!simt::mbarrier_wait(writable(word), uint64_t(phase) << 32, file, line)) {
    }
    return;
  }
  wait_for_phase({word, phase, false}, file, line, __builtin_return_address(0));
}
void phase_wait_parity(const uint64_t* word, bool parity, const char* file, int line) {
  if (is_mbarrier(word)) {
    while (!simt::mbarrier_wait_parity(writable(word), parity, file, line)) {
    }
    return;
  }
  wait_for_phase({word, parity, true}, file, line, __builtin_return_address(0));
}

namespace {
bool try_wait_for_phase(const PhaseWait& what, const char* file, int line, const void* pc) {
  known_phase(what.word, simt::kRead, file, line, pc);
  if (what.is_over()) return true;
  simt::running->step(pc);
  simt::running->let_others_run();
  return what.is_over();
}
}  // namespace
bool phase_try_wait(const uint64_t* word, unsigned phase, const char* file, int line) {
  if (is_mbarrier(word)) return simt::mbarrier_wait(writable(word), uint64_t(phase) << 32, file, line);
  return try_wait_for_phase({word, phase, false}, file, line, __builtin_return_address(0));
}
bool phase_try_wait_parity(const uint64_t* word, bool parity, const char* file, int line) {
  if (is_mbarrier(word)) return simt::mbarrier_wait_parity(writable(word), parity, file, line);
  return try_wait_for_phase({word, parity, true}, file, line, __builtin_return_address(0));
}

void phase_copy(uint64_t* word, void* shared, const void* global, unsigned bytes, const char* file,
                int line) {
  const simt::AsyncCopy copy{static_cast<char*>(shared), static_cast<const char*>(global), bytes, bytes,
                             __builtin_return_address(0)};
  simt::Executor& ex = *simt::running;
  if (ex.trace != nullptr) ex.trace->copy_issued(copy);
  if (is_mbarrier(word)) {
    ex.lane->copies.push_back(copy);
    return simt::mbarrier_follows_copies(word, false, file, line);
  }
  phases().copies[phase_key(word)].push_back(copy);
}

void phase_take_copies(uint64_t* word, const char* file, int line) {
  if (is_mbarrier(word)) return simt::mbarrier_follows_copies(word, false, file, line);
  known_phase(word, simt::kRead, file, line, __builtin_return_address(0));
  simt::Lane& l = *simt::running->lane;
  const size_t first = l.groups.empty() ? 0 : l.groups.back();
  auto& list = phases().copies[phase_key(word)];
  list.insert(list.end(), l.copies.begin() + std::ptrdiff_t(first), l.copies.end());
  l.copies.resize(first);
}

}  // namespace klab::program
