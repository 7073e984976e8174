// Warp functions: the operations that lanes perform after they have met.
#include <algorithm>
#include <cstdint>

#include "harness/simt/executor.h"

namespace klab::simt {
namespace {

struct ShuffleSlot {
  Shuffle how;
  uint64_t value;
  int by, width;
  uint64_t result;
};

/// Returns the lane that `lane` reads from, following the pseudocode of shfl.sync in the PTX manual.
int source_of_shuffle(const ShuffleSlot& s, int lane) {
  const int first = lane & ~(s.width - 1), last = first + s.width - 1;
  int from = lane;
  switch (s.how) {
    case Shuffle::index:
      return first + (s.by & (s.width - 1));
    case Shuffle::up:
      from = lane - s.by;
      return from < first ? lane : from;
    case Shuffle::down:
      from = lane + s.by;
      return from > last ? lane : from;
    case Shuffle::exclusive_or:
      from = lane ^ s.by;
      return from > last ? lane : from;
  }
  return lane;
}

void exchange(void* const* slots, unsigned present) {
  Executor& ex = executor();
  const unsigned warp = ex.lane->warp;
  unsigned missing = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if ((present >> i & 1) == 0) continue;
    auto& mine = *static_cast<ShuffleSlot*>(slots[i]);
    const auto from = unsigned(source_of_shuffle(mine, int(i))) & 31;
    if (present >> from & 1) {
      mine.result = static_cast<ShuffleSlot*>(slots[from])->value;
      continue;
    }
    mine.result = 0xFFFFFFFFFFFFFFFFu;  // undefined on a GPU; NaN here
    if (missing++ > 0) continue;
    const Lane& lane = ex.lane_of(warp, i);
    const bool gone = ex.ended(warp) >> from & 1;
    ex.report({.kind = Kind::inactive_lane,
               .file = lane.file,
               .line = lane.line,
               .text = std::string(lane.name) + " reads from lane " + std::to_string(from) +
                       (gone ? ", which has ended or does not exist" : ", which does not take part")},
              &lane);
  }
}

struct VoteSlot {
  bool predicate;
  unsigned result;
};
void count_votes(void* const* slots, unsigned present) {
  unsigned mask = 0;
  for (unsigned i = 0; i < 32; ++i)
    if ((present >> i & 1) && static_cast<VoteSlot*>(slots[i])->predicate) mask |= 1u << i;
  for (unsigned i = 0; i < 32; ++i)
    if (present >> i & 1) static_cast<VoteSlot*>(slots[i])->result = mask;
}

struct MatchSlot {
  uint64_t value;
  unsigned result;
};
void match(void* const* slots, unsigned present) {
  for (unsigned i = 0; i < 32; ++i) {
    if ((present >> i & 1) == 0) continue;
    auto& mine = *static_cast<MatchSlot*>(slots[i]);
    mine.result = 0;
    for (unsigned k = 0; k < 32; ++k)
      if ((present >> k & 1) && static_cast<MatchSlot*>(slots[k])->value == mine.value)
        mine.result |= 1u << k;
  }
}

struct ReduceSlot {
  Reduce how;
  bool is_signed;
  uint32_t value, result;
};
uint32_t reduced(const ReduceSlot& s, uint32_t a, uint32_t b) {
  switch (s.how) {
    case Reduce::add:
      return a + b;
    case Reduce::min:
      return s.is_signed ? uint32_t(std::min(int32_t(a), int32_t(b))) : std::min(a, b);
    case Reduce::max:
      return s.is_signed ? uint32_t(std::max(int32_t(a), int32_t(b))) : std::max(a, b);
    case Reduce::bit_and:
      return a & b;
    case Reduce::bit_or:
      return a | b;
    case Reduce::bit_xor:
      return a ^ b;
  }
  return a;
}
void reduce_lanes(void* const* slots, unsigned present) {
  bool first = true;
  uint32_t all = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if ((present >> i & 1) == 0) continue;
    const auto& s = *static_cast<ReduceSlot*>(slots[i]);
    all = first ? s.value : reduced(s, all, s.value);
    first = false;
  }
  for (unsigned i = 0; i < 32; ++i)
    if (present >> i & 1) static_cast<ReduceSlot*>(slots[i])->result = all;
}

struct ActiveSlot {
  unsigned result;
};
void tell_active(void* const* slots, unsigned present) {
  for (unsigned i = 0; i < 32; ++i)
    if (present >> i & 1) static_cast<ActiveSlot*>(slots[i])->result = present;
}

}  // namespace

uint64_t shuffle(Shuffle how, unsigned mask, uint64_t value, int by, int width, const char* name,
                 const char* file, int line) {
  ShuffleSlot slot{how, value, by, width, value};
  running->wait_for_lanes(Meeting::shuffle, mask, &slot, exchange, name, file, line);
  return slot.result;
}

unsigned ballot(unsigned mask, bool predicate, const char* name, const char* file, int line) {
  VoteSlot slot{predicate, 0};
  running->wait_for_lanes(Meeting::vote, mask, &slot, count_votes, name, file, line);
  return slot.result;
}

unsigned match_any(unsigned mask, uint64_t value, const char* file, int line) {
  MatchSlot slot{value, 0};
  running->wait_for_lanes(Meeting::match, mask, &slot, match, "__match_any_sync", file, line);
  return slot.result;
}

unsigned active_mask(const char* file, int line) {
  ActiveSlot slot{0};
  running->wait_for_lanes(Meeting::active, 0, &slot, tell_active, "__activemask", file, line);
  return slot.result;
}

uint32_t reduce(Reduce how, bool is_signed, unsigned mask, uint32_t value, const char* name, const char* file,
                int line) {
  ReduceSlot slot{how, is_signed, value, value};
  running->wait_for_lanes(Meeting::reduce, mask, &slot, reduce_lanes, name, file, line);
  return slot.result;
}

}  // namespace klab::simt
