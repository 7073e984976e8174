// What nvcc made of a kernel's loads and stores, read from the disassembly of its machine code: a compiler merges neighboring
// accesses into wider ones, keeps values in registers, and takes loads out of loops, which the source does not show.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/profile.h"

namespace klab::simt {

/// The instructions of one kind that a compiler made of a line of one kernel.
struct CompiledAccess {
  std::string file;  // its name, without folders
  int line = 0;
  Space space = Space::global;
  bool write = false, atomic = false;
  bool generic = false;  // an address that may be of either space: entered for both
  int depth =
      0;  // of the loops that those are in which `widths` counts; more than any for a function that is called
  bool constant = false;  // all of them read what no store changes (LDG.CONSTANT)
  bool matrix = false;    // LDSM: rows of matrices of 8 x 8 halves
  int instructions = 0;   // in the whole kernel
  /// In the loop that holds most bytes of them, or outside of all: how many of 2^k bytes a lane, k = 0..5.
  std::array<int, 6> widths{};
  unsigned bytes = 0;  // a lane's, of those: what one pass through that code moves
};

struct CompiledKernel {
  std::string name;  // as LaunchRecord::kernel
  std::vector<CompiledAccess> accesses;
  int64_t local_loads = 0,
          local_stores = 0;  // instructions: arrays of a thread, and registers that did not suffice
};

struct CompiledCode {
  std::string made_by;  // "nvcc 13.0 for sm_90a"
  std::vector<CompiledKernel> kernels;
  /// By name, template arguments included; else the only one whose name without them is the same. nullptr: none.
  const CompiledKernel* find(const std::string& kernel) const;
};

/// Reads what `nvdisasm --print-line-info-inline -c` printed of one or several files. Throws std::runtime_error where it is no
/// such text. Instructions without a line are left out.
CompiledCode read_disassembly(const std::string& text, const std::string& file);

}  // namespace klab::simt
