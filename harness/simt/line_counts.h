// Counts of a traced run by source line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/profile.h"

namespace klab {

/// One kind of access in one source line.
struct LineCounts {
  std::string file;  // path that the compiler was given
  int line = 0;
  simt::Space space = simt::Space::global;
  bool write = false, atomic = false, async = false;
  unsigned width = 0;  // bytes per lane
  int64_t stride = 0;  // bytes between neighboring lanes, in the first request with several lanes
  simt::Counts counts;
  // the machine code of its kernels was read; then the next two members hold its instructions
  bool compiled_known = false;
  uint8_t compiled_widths = 0;  // bit k: instructions of 2^k bytes a lane
  simt::Counts compiled;
  uint8_t compiled_atomics = 0;  // instructions of atomics: simt::kReduction, simt::kAtomicResult
  bool returns = false;          // an atomic whose old value is used; a GPU makes a reduction (RED) of others
  bool merged = false;  // atomics that GPU compilers execute in one lane for the warp, counted that way
  /// Returns the sectors and wavefronts that a better order of the same accesses would save.
  int64_t excess() const;
};

/// Returns the kind of the access: "load", "shared store", "atomic", "reduction", "copy in".
std::string kind_of(const LineCounts& line);

/// Returns the widths of the instructions that a compiler generated for a line: "16 B", "4, 16 B", or "none".
std::string compiled_widths(const LineCounts& line);

/// Returns whether an access is an atomic on global memory that returns nothing.
bool is_reduction(const LineCounts& line);

/// Merges sites of one line and one kind, since unrolled loops and templates have several. Sorted by file and
/// line.
std::vector<LineCounts> counts_by_line(const simt::Profile& profile);

/// Merges equal launches, in order of first occurrence.
std::vector<simt::LaunchRecord> launches_together(const std::vector<simt::LaunchRecord>& all);

}  // namespace klab
