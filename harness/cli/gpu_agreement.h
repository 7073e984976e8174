// Compares the host's counts of every CUDA variant with those of a GPU's record.
//
//   reports/recorded/<machine>/gpu_counters.csv     the GPU's counts (harness/records/gpu_record.h)
//   reports/recorded/<machine>/gpu_agreement.csv    host counts of the same calls: variant, counter, host,
//   gpu
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/cli/gpu_counters.h"
#include "harness/records/gpu_record.h"

namespace klab {

/// One variant: the counts of both, without rates, or the reason why the host has none.
struct Agreement {
  std::string variant, why_not;
  std::vector<ComparedCounter> counts;
  double least = 0,
         took = 0;     // nanoseconds: the model's least time, and the profiler's measurement; 0: not known
  bool exact() const;  // returns whether all counts are equal
};

/// Counts the record's variants on the host, each at the record's size, without nvcc's code. `gpu`, which may
/// be null, is the GPU model of the record. `showing` is called with each variant's name.
std::vector<Agreement> agreements(const GpuRecord& record, const simt::GpuModel* gpu,
                                  const std::function<void(const std::string&)>& showing);

/// Returns a sentence, and a line for each count that differs, as Markdown or plain text.
std::string agreement_text(const std::vector<Agreement>& list, bool markdown);
std::string agreement_csv(const std::vector<Agreement>& list);
/// Reads such a file.
std::vector<Agreement> read_agreement(const std::string& text, const std::string& file);

}  // namespace klab
