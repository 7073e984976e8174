// What is remembered of each word of memory: who wrote it and who read it last, and when.
//
// Time is counted in intervals: each barrier of each block of each launch begins a new one, numbered through. So
// one number says whether another access was made in this launch, in this block, and since the last barrier. Within
// a warp __syncwarp orders too, by a counter of its own.
#pragma once

#include <cstdint>

namespace klab::simt {

/// Last accesses to one word of 4 bytes, or to one byte of a word that was accessed in parts.
struct Cell {
  static constexpr uint16_t kBlock = 0xFFFF;  // readers: several warps of one block
  static constexpr uint16_t kGrid = 0xFFFE;   // readers: several blocks
  static constexpr uint16_t kWarp = 0x8000;   // readers: several lanes of the warp in the low bits

  uint32_t write_interval = 0;
  uint32_t read_interval = 0;
  uint16_t writer = 0, write_sync = 0, write_site = 0;
  uint16_t reader = 0, read_sync = 0, read_site = 0;
  uint8_t defined = 0;  // one bit a byte
  bool write_atomic = false, read_atomic = false;
  bool in_flight = false;  // an asynchronous copy will fill it
  uint32_t split = 0;      // 1 + index of four cells, one a byte
};

}  // namespace klab::simt
