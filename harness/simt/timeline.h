// The time line of a recorded block: its warps against steps.
//
// A step is a block of code that lanes of a warp enter together, or one request to memory. Warps go on side by side, a step each, and
// wait where they have waited: all leave a barrier with the last. So steps order what happens. They are no time: a GPU's
// instructions take longer than each other.
//
// A copy is in flight from its issue until a warp waits for it, since the executor lands data as late as a correct kernel allows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/recording.h"

namespace klab::simt {

enum class Doing : uint8_t { code, shared, global, copies, waits };
inline constexpr int kDoings = 5;

/// Steps that a warp does the same in one source line.
struct Span {
  uint32_t begin = 0, end = 0;
  Doing what = Doing::code;
  int access = -1;   // index in Recording::accesses(); -1: none
  int line = 0;      // of a wait; 0: not known
  int barrier = -1;  // that is waited for: index in RecordedBlock::barriers; -1: __syncthreads, or no wait
};

enum class FlightKind : uint8_t { copies, engine, stores, products };

/// A group of copies or products of a warp that are in flight. Copies of the copy engine are a group each.
struct Flight {
  FlightKind kind = FlightKind::copies;
  unsigned warp = 0;
  uint32_t group = 0;  // number in its kind and warp
  uint32_t issue = 0, commit = 0, land = 0;
  uint64_t bytes = 0;  // of copies
  uint32_t overlapped =
      0;  // steps from commit to land in which the warp, or for the copy engine any warp, does something else than wait
  int barrier = -1;  // whose phase it completes
  uint32_t phase = 0;
  bool landed = false;  // before the end of what was recorded
};

struct BarrierPhase {
  int barrier = 0;
  uint32_t phase = 0;
  uint32_t first = 0, end = 0;  // first and last arrival, or the wait that landed its copies
  unsigned arrivals = 0, waits = 0;
};

struct Timeline {
  uint32_t steps = 0;
  std::vector<std::vector<Span>> warps;
  std::vector<Flight> flights;
  std::vector<BarrierPhase> phases;  // by barrier and phase
  /// Steps from commit to land, and those of them that are overlapped, over all flights of a kind.
  struct Overlap {
    uint64_t steps = 0, overlapped = 0;
  };
  Overlap overlap(FlightKind kind) const;
};

Timeline timeline_of(const RecordedBlock& block, const std::vector<RecordedAccess>& accesses);

const char* name_of(Doing what);
const char* name_of(FlightKind kind);

}  // namespace klab::simt
