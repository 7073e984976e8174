// The recorded counts of a checkout's CUDA rungs, compared with those of now. Any change of a kernel, the
// executor or the compiler that changes a count is noticed, and then fixed or recorded.
//
//   reports/recorded/counts/<op>.csv    one number per line: variant, shape, place, access, metric, count
//
// A place is "all" (one call of the rung), "kernel NAME" (its launches together) or "FILE:LINE", one access
// of the source. A metric that is not listed is 0. Line numbers are not compared: lines that only moved are
// no change.
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

/// Thrown if a file of recorded counts cannot be read. what() names file, line and the command that records
/// it again.
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

/// The counts of one rung at one shape. A rung that the host cannot run (matrix instructions of one GPU only,
/// a library) has only the place "all" with the metric "calls" at 0.
struct RungCounts {
  std::string variant;
  std::string shape;  // "m=99 n=134"; empty if nothing was counted
  std::vector<PlaceCounts> places;
  friend bool operator==(const RungCounts&, const RungCounts&) = default;
};

/// The counts of one op, in rung order.
struct OpCounts {
  std::string compiler;  // "GNU 12.2.0": the counts are of its instructions
  std::vector<RungCounts> rungs;
  const RungCounts* find(const std::string& variant) const;
};

/// Returns LabOp::counted, or shape_for_counting() if the lab sets none.
std::vector<int64_t> shape_of_recorded_counts(const LabOp& op);

/// Runs the rung once. Throws std::runtime_error that names rung and place if the executor finds an error in
/// it.
RungCounts count_rung(const LabOp& op, const Variant& variant, int threads = 1);
RungCounts recordable(const LabOp& op, const CountedRun& run);

/// Returns the file with an op's recorded counts, below the root of a tree.
std::filesystem::path counts_file(const std::filesystem::path& root, const std::string& op);

std::string counts_csv(const OpCounts& counts);
/// Reads the output of counts_csv; renamed rungs get their present names. Throws RecordedCountsError; returns
/// nullopt if there is no file.
std::optional<OpCounts> read_counts(const std::filesystem::path& file, const std::string& op);

/// One number that differs from the record. A side without the place, or without the rung, is nullopt.
struct CountChange {
  std::string variant, where, access, metric;
  std::optional<int64_t> recorded, now;
  std::string note;  // further explanation, if two numbers are not enough
  std::string text() const;
};

/// Returns the differences in the order of the places. Accesses of one file and kind are paired in line
/// order.
std::vector<CountChange> changes_of(const RungCounts& recorded, const RungCounts& now);

/// Returns the differences between the recorded and the present counts of an op's selected rungs. With
/// `whole`, recorded rungs that no longer exist are differences too. The note says what a rung lacks.
std::vector<CountChange> changes_of(const std::optional<OpCounts>& recorded,
                                    const std::vector<RungCounts>& now, bool whole);

}  // namespace klab
