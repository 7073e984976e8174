// What waits for a GPU: CUDA rungs that no GPU has timed as they are now, each with its prediction and the rule that decides it.
//
//   reports/gpu_queue.csv                        what waits, in the order of the labs
//   reports/recorded/<machine>/gpu_rows*.csv     what was timed
//   reports/recorded/<machine>/gpu_sources.csv   of which code: a digest per rung, without comments, blanks and includes
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/registry.h"
#include "harness/records/rows.h"

namespace klab {

/// One line of the queue.
struct Waiting {
  std::string rung;                 // id
  std::vector<int64_t> shape;       // to be timed at
  std::string parent;               // id; empty for the first rung
  std::optional<double> predicted;  // times as fast as its parent, at that shape
  std::string rule;                 // of rule_of()
  std::string reason;               // why it waits
  friend bool operator==(const Waiting&, const Waiting&) = default;
};

/// Returns how the line is decided: "over its parent: at least 1.5", "over its parent: above 1", "timed".
std::string rule_of(const std::optional<double>& predicted, const std::string& parent);

/// Applies a line's rule to what was measured: "held", "not held", "undecided" where the interval holds the limit, "timed", or
/// "not decided: " with the reason where there is no time.
std::string decide(const Waiting& line, std::span<const Row> rows);

/// Returns a digest of a rung's code in that tree: its file and the headers of kernels/ that it includes, directly or not, without
/// comments, includes and blanks. Those that all rungs include do not count. Empty if the tree has no such file.
std::string code_digest(const std::filesystem::path& root, const Variant& variant);

/// Returns the rungs of CUDA ladders, vendors' baselines left out, that have no recorded time at the shape of their promise
/// (without a promise: at the first size of their lab), or whose code has changed since. Throws RowsError for a record that cannot
/// be read.
std::vector<Waiting> waiting_for_gpu(const std::filesystem::path& root);

std::string gpu_queue_csv(std::span<const Waiting> lines);

/// Reads such a file. Throws std::invalid_argument that names file, line and column: unknown rungs, shapes of another number of
/// dimensions, a prediction that is no positive number.
std::vector<Waiting> read_gpu_queue(const std::filesystem::path& file);

/// Returns the digests of all CUDA rungs of a tree as gpu_sources.csv holds them.
std::string gpu_sources_csv(const std::filesystem::path& root);

}  // namespace klab
