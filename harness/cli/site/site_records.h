// The records that pages of the site show: rows of machines, counts of CUDA rungs, what waits for a GPU. Nothing is measured here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/registry.h"
#include "harness/records/recorded_counts.h"
#include "harness/records/rows.h"

namespace klab {

/// A machine with recorded rows: those of its last tour and, if it has a GPU, of its CUDA ladders.
struct RecordedMachine {
  std::string fingerprint;
  std::string name;  // "NVIDIA H200; Intel(R) Xeon(R) Processor, AVX3, 16 threads"
  bool gpu = false;
  Recording rows;  // timed ones; of a rung that was timed again, the last
};

class SiteRecords {
 public:
  /// Reads the records of source_root() when they are first asked for. Members throw RowsError or RecordedCountsError for a record
  /// that cannot be read.
  const std::vector<RecordedMachine>& machines();

  /// Returns the recorded counts of one call of a CUDA rung; null if there are none.
  const RungCounts* counts(const Variant& variant);

  /// Returns "not yet measured on a GPU", or "on a GPU: changed since it was timed"; empty for a CUDA rung whose times are recorded,
  /// and for rungs of the processor and vendors' libraries.
  std::string waits(const Variant& variant);

 private:
  std::optional<std::vector<RecordedMachine>> machines_;
  std::map<std::string, std::optional<OpCounts>> counts_;  // by op
  std::optional<std::map<std::string, std::string>> waiting_;
};

/// Returns a machine's name from its record (machine.json): "AMD EPYC, AVX3, 2 threads". Throws std::runtime_error that names the
/// file if it lacks that.
RecordedMachine recorded_machine(const std::filesystem::path& folder);

}  // namespace klab
