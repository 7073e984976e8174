// Checks an access to one word of memory: whether the word was ever written, and whether earlier accesses are ordered before it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "harness/simt/split_cells.h"
#include "harness/simt/trace_find.h"
#include "harness/simt/unset.h"

namespace klab::simt {

class TraceCheck : public TraceFind {
 protected:
  void launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch,
                     GridRun* grid);

  /// Handles most accesses: whole words whose last accesses were long ago or by the same thread. Returns
  /// false if watch() has to handle it.
  bool seen_quickly(Cell& cell, const char* word, bool write, uint16_t site, const Lane& me);
  void watch(Cell& cell, char* word, unsigned first, unsigned last, uint8_t how, uint16_t site, bool shared);
  /// Watches a word of global memory that other threads may access concurrently.
  void watch_held(Cell& cell, char* word, unsigned first, unsigned last, uint8_t how, uint16_t site);

 private:
  void check_cell(Cell& cell, const char* p, unsigned bytes, uint8_t how, uint16_t site, bool shared);
  /// Returns whether another block of the launch wrote the word, or has read it and this access writes.
  bool meets_another(const Cell& cell, uint8_t how) const;
  /// Returns whether two accesses that are both atomic or volatile need no order between them.
  ///
  /// Volatile accesses let blocks pass flags to each other. Lanes of a warp do not go in step, so there they
  /// order nothing. Between warps of a block they do if the writer fences; in shared memory since the last barrier. In global memory a
  /// word that becomes 1 is a flag in any case: a reader that is too early reads it again.
  bool is_excused(const Cell& cell, bool with_writer, const char* p, unsigned bytes, uint8_t how,
                  bool shared) const;
  /// Records that the plain reads of a word by the running thread were hints for the atomic it now makes.
  void were_hints(const Cell& cell, const char* word);
  void hint(uint16_t site);
  /// Handles a read of bytes of a word of which nothing has written some. `unset`: the word has the value of a variable that was
  /// never set.
  void read_unwritten(const Cell& cell, char* word, unsigned first, unsigned last, bool unset, uint8_t how,
                      uint16_t site, bool shared);
  /// Returns whether bytes of a word that nothing has written are padding of the structure that is read.
  bool is_only_padding(const char* word, uint8_t missing, uint16_t site) const;
  /// Returns whether a library reads here what it only moves in its shared memory. CUB's merges load the element behind their last one;
  /// `is_value`: it is a value that a variable of the program may have given. CUB's own kernels exchange whole tiles, of which only
  /// a part may be set.
  bool is_moved_by_library(bool is_value, uint8_t how, uint16_t site) const;
  /// Returns whether a byte that nothing has written is read with characters of a text before it: alone, or in a structure.
  bool is_behind_text(const char* p) const;

  SplitCells split_global_;
  std::vector<uint8_t> is_hint_;  // by site
};

[[gnu::always_inline]] inline bool TraceCheck::seen_quickly(Cell& c, const char* word, bool write,
                                                            uint16_t site, const Lane& me) {
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
