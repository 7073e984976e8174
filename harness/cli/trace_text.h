// What `klab trace` shows: the kernel's source with its counters, in the terminal, as JSON and as one HTML page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/cli/machine_code.h"
#include "harness/records/count_hints.h"
#include "harness/records/counts.h"
#include "harness/simt/occupancy.h"

namespace klab {

struct TraceView {
  const LabOp* op = nullptr;
  const Variant* variant = nullptr;
  CountedRun run;
  std::vector<Hint> hints;
  std::string no_resources;        // why registers are not known; empty: they are
  std::vector<LocalMemory> local;  // in the machine code, where it has been read
  bool bound = false;              // with the least time on the named GPU
};

/// A counter under the name that Nsight Compute gives it, with the one that klab uses in words.
struct NamedCounter {
  std::string words, nsight;
  double value = 0;
  bool ratio = false;
  std::string also = {};  // a counter of which the GPU's is the rest
  bool rare = false;      // may be left out of a GPU's counters
};
/// `compiled`: as nvcc compiled the kernels.
std::vector<NamedCounter> named_counters(const CountedRun& run, bool compiled = false);

/// A line of the source, and the accesses in it.
struct SourceRow {
  int number = 0;
  std::string text;
  std::vector<const LineCounts*> counts;  // worst first
};
/// The files that have counted lines, each from the first line of a kernel to the last that counts.
struct SourceView {
  std::string file;  // by its place in the tree
  std::vector<SourceRow> rows;
};
std::vector<SourceView> annotated_source(const CountedRun& run);

/// All counted lines, worst first: by what they cost beyond what they must, then by what they cost.
std::vector<const LineCounts*> worst_first(const CountedRun& run);

/// "128 of 16 B": the requests that nvcc's code makes, and of which widths; "as written"; "none"; "?" where it is not known.
std::string compiled_in_words(const LineCounts& line);
/// As many requests of the same width, or nothing known of others.
bool compiled_as_written(const LineCounts& line);

/// Launches, occupancy, source, worst lines and counters. Of a program `op` and `variant` are null.
std::string trace_tables(const TraceView& view);
std::string trace_html_tables(const TraceView& view);
/// Counts, launches and lines.
void add_counts(nlohmann::ordered_json& j, const TraceView& view);
/// A page of that title, with a line of small print below it.
std::string trace_page(const std::string& title, const std::string& small_print, const std::string& content);

std::string trace_text(const TraceView& view);
nlohmann::ordered_json trace_json(const TraceView& view);
std::string trace_html(const TraceView& view);

}  // namespace klab
