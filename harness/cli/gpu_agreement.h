// The host's counts of every CUDA variant beside those of a GPU's record.
//
//   reports/recorded/<machine>/gpu_counters.csv     what the GPU counted (harness/records/gpu_record.h)
//   reports/recorded/<machine>/gpu_agreement.csv    what the host counted of the same calls: variant, counter, host, gpu
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/cli/gpu_counters.h"
#include "harness/records/gpu_record.h"

namespace klab {

/// Of one variant: counts of both, without rates; or why there are none of the host.
struct Agreement {
  std::string variant, why_not;
  std::vector<ComparedCounter> counts;
  double least = 0,
         took = 0;     // nanoseconds: the least that the GPU's model needs, and the profiler's; 0: not known
  bool exact() const;  // every count is the same number
};

/// Counts the record's variants on the host, each at the record's size, without nvcc's code. `gpu`, which may be null, is the model
/// whose record it is. `showing` is told each variant's name.
std::vector<Agreement> agreements(const GpuRecord& record, const simt::GpuModel* gpu,
                                  const std::function<void(const std::string&)>& showing);

/// A sentence, and a line for each count that differs; Markdown, or for people.
std::string agreement_text(const std::vector<Agreement>& list, bool markdown);
std::string agreement_csv(const std::vector<Agreement>& list);
/// Of such a file.
std::vector<Agreement> read_agreement(const std::string& text, const std::string& file);

}  // namespace klab
