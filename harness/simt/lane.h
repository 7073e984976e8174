// A thread of the running block: what the executor knows of it, and the stack that it runs on.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/simt/runtime_api.h"

namespace klab::simt {

struct Lane;

inline constexpr size_t kStackOfThread = 256 << 10;  // bytes: its local memory

struct Fiber {
  boost::context::detail::fcontext_t at = nullptr;
  char* stack = nullptr;  // lowest address
  Lane* lane = nullptr;   // lane whose thread it runs
};

/// An asynchronous copy that was issued and has not landed.
struct AsyncCopy {
  char* to;
  const char* from;
  unsigned bytes, filled;
  const void* site;
};

/// A call of a function that was not inlined: the block of code that contains it, and how many calls made in
/// that block have returned.
struct Frame {
  uintptr_t block = 0;
  uint32_t turn = 0;
};

enum class State : uint8_t { fresh, ready, at_barrier, at_grid, meeting, blocked, done };

/// Fields that every access needs come first, in one cache line.
struct alignas(64) Lane {
  Fiber* fiber = nullptr;
  char* stack = nullptr;  // the fiber's
  uint64_t steps = 0;     // accesses and branches since it began
  // Atomic and volatile accesses in a row that found one word as it was, with no plain access in between.
  uint32_t spins = 0;
  std::vector<Frame> frames;  // of a traced thread: its calls, innermost last
  unsigned thread = 0;        // x + X·(y + Y·z)
  unsigned lane = 0, warp = 0;
  State state = State::fresh;
  unsigned x = 0, y = 0, z = 0;
  // Valid while the lane waits.
  Meeting what = Meeting::syncwarp;
  unsigned mask = 0;
  void* slot = nullptr;
  void (*act)(void* const*, unsigned) = nullptr;
  const char* name = "";
  const char* file = "";
  int line = 0;
  Vote vote = Vote::sync;
  int predicate = 0;
  bool timed_out = false;          // its wait has ended without what it waited for (wait_until_woken)
  uint32_t fenced_at = 0;          // interval of its last fence for the device; 0: none
  bool fenced = false;             // has executed a fence of any scope
  bool waited_for_launch = false;  // griddepcontrol.wait
  // Plain reads of words that atomics of other threads have written, the last ones in turn.
  struct PlainRead {
    const char* word = nullptr;
    uint16_t site = 0;
  };
  std::array<PlainRead, 4> plain_reads{};
  uint8_t next_plain_read = 0;
  std::vector<AsyncCopy> copies;     // of the open group, then of the committed ones
  std::vector<size_t> groups;        // ends of committed groups in `copies`
  const void* spin_at = nullptr;     // the word
  const void* spin_place = nullptr;  // in the code
  uint64_t spin_value = 0;           // that a volatile read found
  /// Records an atomic or volatile access. `same`: it has not changed the word.
  void polled(const void* p, const void* pc, bool same) {
    if (same && p == spin_at && pc == spin_place) {
      ++spins;
      return;
    }
    spins = 0;
    spin_at = p;
    spin_place = pc;
  }
  void runs_on(Fiber* f) {
    fiber = f;
    stack = f->stack;
    f->lane = this;
  }
};
}  // namespace klab::simt
