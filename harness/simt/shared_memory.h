// The shared memory of a block as its trace sees it: shadow cells for its words, and the kernel's variables in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/modules.h"
#include "harness/simt/shadow.h"
#include "harness/simt/split_cells.h"

namespace klab::simt {

class Executor;

/// Shadow of a block's shared memory, static or dynamic. Cleared after each block.
class SharedShadow {
 public:
  void attach(char* begin, size_t bytes);
  bool holds(const char* p) const { return p >= begin_ && p < begin_ + bytes_; }
  [[gnu::always_inline]] Cell& cell(const char* p) {
    const size_t word = size_t(p - begin_) / 4;
    Cell& c = cells_[word];
    if (c.write_interval == 0 && c.read_interval == 0) touched_.push_back(uint32_t(word));
    return c;
  }
  /// Returns the cells of the whole words from p on.
  [[gnu::always_inline]] Cell* cells(const char* p, size_t bytes) {
    for (size_t at = 4; at < bytes; at += 4) cell(p + at);
    return &cell(p);
  }
  size_t offset(const char* p) const { return size_t(p - begin_); }
  bool is_defined(const char* p) const { return (cells_[offset(p) / 4].defined >> (offset(p) % 4) & 1) != 0; }
  size_t bytes() const { return bytes_; }
  const char* begin() const { return begin_; }
  /// Clears the last block's cells, and overwrites its shared memory.
  void forget();
  /// Marks everything as written, and earlier accesses as ordered before later ones.
  void all_defined();

 private:
  char* begin_ = nullptr;
  size_t bytes_ = 0;
  std::vector<Cell> cells_;
  std::vector<uint32_t> touched_;
};

class SharedMemory {
 public:
  /// Takes static memory and variables from the executor, which has attached to the kernel.
  void launch_begins(const Executor& executor, const void* kernel);
  void launch_ended();
  /// Clears both shadows, and takes the launch's dynamic memory.
  void block_begins(const Executor& executor);
  /// Clears both shadows, for a block that has run before and has written everything.
  void block_goes_on();

  bool holds(const char* p) const { return fixed.holds(p) || dynamic.holds(p); }
  Cell& cell(const char* p) { return dynamic.holds(p) ? dynamic.cell(p) : fixed.cell(p); }
  /// Returns whether bytes in static memory belong to the running kernel.
  bool is_the_kernels(const char* p, size_t bytes) const;
  /// Returns the kernel's variable that contains an address in static memory; nullptr if its variables are not known.
  const SharedVariable* variable_at(const char* p) const {
    return variables_.empty() ? nullptr : &variables_[variable_of_[fixed.offset(p) / 4] - 1U];
  }
  /// Describes an address in no variable by the nearest variable and the distance to it.
  std::string where(const char* p) const;

  SharedShadow fixed, dynamic;
  SplitCells split;
  unsigned rank = 0;  // of its block in a cluster

 private:
  // static variables that the kernel may use, by offset; empty: not known
  std::vector<SharedVariable> variables_;
  std::vector<uint16_t> variable_of_;  // word of static shared memory -> 1 + index in variables_
  const char* arena_ = nullptr;        // Executor::arena
};

}  // namespace klab::simt
