// Remembers for each word of memory which thread last wrote it, which last read it, and when.
//
// Time is counted in intervals, numbered consecutively: each barrier of each block of each launch begins a
// new one. So one number tells whether another access was made in this launch, in this block, and since the
// last barrier. Within a warp __syncwarp orders accesses too, by a counter of its own.
#pragma once

#include <sched.h>

#include <cstdint>

namespace klab::simt {

/// The last accesses to one word of 4 bytes, or to one byte of a word that was accessed in parts.
struct Cell {
  static constexpr uint16_t kBlock = 0xFFFF;  // readers: several warps of one block
  static constexpr uint16_t kGrid =
      0xFFFE;  // readers: several blocks; when blocks run concurrently, read_sync
               // holds a thread of one of them
  static constexpr uint16_t kWarp = 0x8000;  // readers: several lanes of the warp in the low bits

  uint32_t write_interval = 0;
  uint32_t read_interval = 0;
  uint16_t writer = 0, write_sync = 0, write_site = 0;
  // If there are several readers, the site of the first is kept: the thread that writes has often read the word just before,
  // and does not race with itself. A first reader that has written the word too is replaced.
  uint16_t reader = 0, read_sync = 0, read_site = 0;
  uint8_t defined = 0;  // one bit per byte
  bool write_atomic : 1 = false, read_atomic : 1 = false;
  // The atomic access was only volatile: other blocks may see it as a flag, but it orders nothing in a block.
  bool write_volatile : 1 = false, read_volatile : 1 = false;
  bool write_fenced : 1 = false;  // the writer had executed a fence
  bool in_flight : 1 = false;     // an asynchronous copy will fill it
  bool by_agent : 1 = false;      // the writer or a reader is, or may be, an agent (async_order.h)
  uint8_t held = 0;               // locked by one of several host threads that run blocks
  uint32_t split = 0;             // index of its four cells, one per byte (SplitCells)
};

/// Locks a cell that host threads may share.
class HeldCell {
 public:
  explicit HeldCell(Cell& cell) : cell_(cell) { take(); }
  ~HeldCell() { give(); }
  HeldCell(const HeldCell&) = delete;
  HeldCell& operator=(const HeldCell&) = delete;
  void take() {
    while (__atomic_exchange_n(&cell_.held, uint8_t(1), __ATOMIC_ACQUIRE) != 0)
      for (int k = 0; __atomic_load_n(&cell_.held, __ATOMIC_RELAXED) != 0; ++k)
        if (k > 100) sched_yield();
  }
  void give() { __atomic_store_n(&cell_.held, uint8_t(0), __ATOMIC_RELEASE); }

 private:
  Cell& cell_;
};

}  // namespace klab::simt
