// What a GPU counted of one call of each CUDA variant, kept as a table:
//
//   reports/recorded/<machine>/gpu_counters.csv    a line a variant: its shape, and a column a counter of Nsight Compute,
//                                                  summed over the call's launches; empty where it was not asked for
#pragma once

#include <map>
#include <string>

namespace klab {

struct GpuCall {
  std::string shape;                     // "m=99 n=134"
  std::map<std::string, double> counts;  // by the counter's name
  friend bool operator==(const GpuCall&, const GpuCall&) = default;
};
using GpuRecord = std::map<std::string, GpuCall>;  // by variant

/// From such a table, or from what `ncu --csv` wrote of a run of `klab trace VARIANT... --on-gpu`. Throws std::invalid_argument that
/// names file and line: no table, a cell that is no count, a variant that has no launch or stands there twice.
GpuRecord read_gpu_record(const std::string& text, const std::string& file);

std::string gpu_record_text(const GpuRecord& record);

}  // namespace klab
