// Counts of a traced run, by line of the source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/profile.h"

namespace klab {

/// One kind of access in one line of the source.
struct LineCounts {
  std::string file;  // as the compiler was given it
  int line = 0;
  simt::Space space = simt::Space::global;
  bool write = false, atomic = false, async = false;
  unsigned width = 0;  // bytes per lane
  int64_t stride = 0;  // bytes between neighboring lanes, in the first request of several
  simt::Counts counts;
  bool compiled_known = false;  // the machine code of its kernels has been read: then what it does, by width
  uint8_t compiled_widths = 0;  // bit k: instructions of 2^k bytes a lane
  simt::Counts compiled;
  bool merged = false;  // atomics that a compiler for GPUs gives to one lane of a warp: counted as that
  /// Sectors and wavefronts that a better order of the same accesses would save.
  int64_t excess() const;
};

/// "load", "shared store", "atomic", "copy in": what an access is.
std::string kind_of(const LineCounts& line);

/// "16 B", "4, 16 B": the widths of the instructions that a compiler made of a line; "none".
std::string compiled_widths(const LineCounts& line);

/// Sites of one line and one kind are one: unrolled loops and templates have several. By file and line.
std::vector<LineCounts> counts_by_line(const simt::Profile& profile);

/// Equal launches together, in the order of their first time.
std::vector<simt::LaunchRecord> launches_together(const std::vector<simt::LaunchRecord>& all);

}  // namespace klab
