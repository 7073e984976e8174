// The counts that the CUDA rungs of a checkout are known to have, and what differs from them now: a change of a kernel,
// of the executor or of the compiler that moves a count is seen, and either mended or recorded.
//
//   reports/recorded/counts/<op>.csv    one number a line: variant, shape, place, access, metric, count
//
// A place is "all" (one call of the rung), "kernel NAME" (its launches together) or "FILE:LINE", one access of the source.
// A metric that is not listed is 0. Where a rung stands in its file is no count: lines that only moved are no change.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/records/counts.h"

namespace klab {

/// A file of recorded counts cannot be read. what() names file, line and the command that records it anew.
struct RecordedCountsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The counts of one place.
struct PlaceCounts {
  std::string place;   // "all", "kernel transpose", "kernels/transpose/cuda/01_naive.cu"
  int line = 0;        // of the file; 0 for the others
  std::string access;  // "shared load 4 B"; empty for the others
  std::map<std::string, int64_t> counts;
  std::string where() const;  // "kernels/transpose/cuda/01_naive.cu:18"
  friend bool operator==(const PlaceCounts&, const PlaceCounts&) = default;
};

/// The counts of one rung at one shape. A rung that the host cannot run (matrix instructions of one GPU only, a library)
/// has the place "all" with the metric "calls" at 0, and no others.
struct RungCounts {
  std::string variant;
  std::string shape;  // "m=99 n=134"; empty where nothing was counted
  std::vector<PlaceCounts> places;
  friend bool operator==(const RungCounts&, const RungCounts&) = default;
};

/// Those of one op, in the order of its rungs.
struct OpCounts {
  std::string compiler;  // "GNU 12.2.0": the instructions that it emits are what is counted
  std::vector<RungCounts> rungs;
  const RungCounts* find(const std::string& variant) const;
};

/// LabOp::counted, or where a lab names none shape_for_counting().
std::vector<int64_t> shape_of_recorded_counts(const LabOp& op);

/// Runs the rung once. Throws std::runtime_error when the executor finds something illegal in it, naming rung and place.
RungCounts count_rung(const LabOp& op, const Variant& variant, int threads = 1);
RungCounts recordable(const LabOp& op, const CountedRun& run);

/// Where the counts of an op are recorded, below the root of a tree.
std::filesystem::path counts_file(const std::filesystem::path& root, const std::string& op);

std::string counts_csv(const OpCounts& counts);
/// Reads what counts_csv wrote; rungs that were renamed come under their present names. Throws RecordedCountsError;
/// nullopt when there is no file.
std::optional<OpCounts> read_counts(const std::filesystem::path& file, const std::string& op);

/// One number that is not what was recorded. A side without the place, or the rung, is nullopt.
struct CountChange {
  std::string variant, where, access, metric;
  std::optional<int64_t> recorded, now;
  std::string note;  // where there is more to say than two numbers
  std::string text() const;
};

/// What differs, in the order of the places. Accesses of one file and kind are paired in the order of their lines.
std::vector<CountChange> changes_of(const RungCounts& recorded, const RungCounts& now);

/// What differs in the rungs of an op that are asked for: what is recorded against what was counted. With `whole`,
/// recorded rungs that no longer exist differ, too. The note names what a rung lacks.
std::vector<CountChange> changes_of(const std::optional<OpCounts>& recorded,
                                    const std::vector<RungCounts>& now, bool whole);

}  // namespace klab
