// The loads and stores that nvcc generated for a kernel, read from the disassembly of its machine code. A
// compiler merges neighboring accesses into wider ones, keeps values in registers, and moves loads out of
// loops; the source shows none of this.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/profile.h"

namespace klab::simt {

/// The instructions of one kind that a compiler generated for one line of one kernel.
struct CompiledAccess {
  std::string file;  // name without folders
  int line = 0;
  Space space = Space::global;
  bool write = false, atomic = false;
  bool generic = false;  // an address that may be in either space: entered for both
  int depth =
      0;  // number of loops around the instructions that `widths` counts; kCalled in a called function
  bool constant = false;  // all of them read data that no store changes (LDG.CONSTANT)
  bool matrix = false;    // LDSM: rows of matrices of 8 x 8 halves
  bool engine = false;    // a copy of the copy engine: UTMALDG, UTMASTG, UTMAREDG, UBLKCP, UBLKRED
  uint8_t atomics = 0;    // kReduction: some are RED; kAtomicResult: some are ATOM
  int instructions = 0;   // number in the whole kernel
  /// Instructions of 2^k bytes a lane, k = 0..5, in the loop that moves most bytes, or outside all loops.
  std::array<int, 6> widths{};
  unsigned bytes = 0;  // bytes that one pass through those instructions moves for a lane
};

/// Instructions of one name in one line that are no accesses of lanes: of the copy engine, matrix products of four warps, barriers in
/// shared memory, fences of the asynchronous proxy.
struct CompiledUnit {
  std::string file;  // name without folders
  int line = 0;
  std::string name;  // "HGMMA.64x128x16.F32.BF16"
  int instructions = 0;
};

struct CompiledKernel {
  std::string name;  // as LaunchRecord::kernel
  std::vector<CompiledAccess> accesses;
  std::vector<CompiledUnit> units;  // in the order of the code
  int64_t local_loads = 0,
          local_stores = 0;  // instructions: arrays of a thread, and spilled registers
};

struct CompiledCode {
  std::string made_by;  // "nvcc 13.0 for sm_90a"
  std::vector<CompiledKernel> kernels;
  /// Finds a kernel by its name with template arguments, else the only kernel with the same name without
  /// them. Returns nullptr if there is none.
  const CompiledKernel* find(const std::string& kernel) const;
};

/// Reads the output of `nvdisasm --print-line-info-inline -c` for one or several files. Throws
/// std::runtime_error for any other text. Instructions without a line are left out.
CompiledCode read_disassembly(const std::string& text, const std::string& file);

}  // namespace klab::simt
