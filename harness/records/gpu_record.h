// A GPU's counts of one call of each CUDA variant, kept as a table:
//
//   reports/recorded/<machine>/gpu_counters.csv    one line per variant: its shape, and one column per
//   counter of
//                                                  Nsight Compute, summed over the call's launches; empty if
//                                                  the
//                                                  counter was not requested
#pragma once

#include <map>
#include <string>

namespace klab {

struct GpuCall {
  std::string shape;                     // "m=99 n=134"
  std::map<std::string, double> counts;  // by name of the counter
  friend bool operator==(const GpuCall&, const GpuCall&) = default;
};
using GpuRecord = std::map<std::string, GpuCall>;  // by variant

/// Reads such a table, or the output of `ncu --csv` for a run of `klab trace VARIANT... --on-gpu`. Throws
/// std::invalid_argument that names file and line: not a table, a cell that is not a count, a variant without
/// a launch or listed twice.
GpuRecord read_gpu_record(const std::string& text, const std::string& file);

std::string gpu_record_text(const GpuRecord& record);

}  // namespace klab
