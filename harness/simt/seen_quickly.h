// The shortest path of a watched access, for the files of Trace that watch words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "harness/simt/trace.h"
#include "harness/simt/unset.h"

namespace klab::simt {

[[gnu::always_inline]] inline bool Trace::seen_quickly(Cell& c, const char* word, bool write, uint16_t site,
                                                       const Lane& me) {
  // This is a shortcut for the cases in which watch() and check_cell() would do the same.
  const auto thread = uint16_t(me.thread);
  const auto over = [&](uint32_t interval, uint16_t who) {
    return interval < all_over_before_ || (interval == interval_ && who == thread) ||
           (interval >= block_first_ && interval < interval_ && who != Cell::kGrid);
  };
  if (c.in_flight || c.by_agent || c.split != 0 || !over(c.write_interval, c.writer)) return false;
  if (write) {
    if (!over(c.read_interval, c.reader)) return false;
    c.defined = 0xF;
    c.write_interval = interval_;
    c.writer = thread;
    c.write_sync = clocks_[me.warp].now;
    c.write_site = site;
    c.write_atomic = false;
    return true;
  }
  if (c.defined != 0xF || is_unset(word)) return false;
  if (over(c.read_interval, c.reader)) {
    c.reader = thread;
    c.read_sync = clocks_[me.warp].now;
    c.read_atomic = false;
    c.read_site = site;
  } else {
    if (async_.on()) return false;
    if (c.reader == c.writer) c.read_site = site;
    const bool grid = acquired_.empty() && (c.reader == Cell::kGrid || c.read_interval < block_first_ ||
                                            (c.read_interval > interval_ && chunks_.empty()));
    if (!grid && c.read_interval != interval_) return false;
    if (!grid && c.reader != Cell::kBlock) {
      if (clocks_[me.warp].now != 0 || c.reader == Cell::kGrid) return false;
      const unsigned warp = c.reader & Cell::kWarp ? c.reader & 0xFFU : c.reader / 32U;
      c.reader = warp == me.warp ? uint16_t(Cell::kWarp | warp) : Cell::kBlock;
    }
    if (grid && grid_ != nullptr) {
      if (c.reader == Cell::kGrid) return true;
      if (!chunks_.empty()) return false;
      c.read_sync = std::exchange(c.reader, Cell::kGrid);
      return true;
    }
    if (grid) c.reader = Cell::kGrid;
    c.read_sync = std::max(c.read_sync, clocks_[me.warp].now);
    c.read_atomic = false;
  }
  c.read_interval = interval_;
  return true;
}

}  // namespace klab::simt
