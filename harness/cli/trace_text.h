// The output of `klab trace`: the kernel's source with its counters, in the terminal, as JSON and as one HTML
// page.
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
  std::string no_resources;            // reason why registers are not known; empty if they are
  std::vector<LocalMemory> local;      // in the machine code, if it was read
  std::vector<UnitInstruction> units;  // in the machine code: copy engine, products, barriers
  bool bound = false;                  // show the least time on the named GPU
  std::string pictures;                // a section of the page, HTML; empty: none
};

/// A counter with Nsight Compute's name and klab's description.
struct NamedCounter {
  std::string words, nsight;
  double value = 0;
  bool ratio = false;
  std::string also = {};  // a counter whose value the GPU adds to this one
  bool rare = false;      // may be missing in a GPU's counters
  bool part = false;      // of the counter before it: shown, and not compared with a GPU's
};
/// `compiled`: counts as nvcc compiled the kernels.
std::vector<NamedCounter> named_counters(const CountedRun& run, bool compiled = false);

/// A source line with its accesses.
struct SourceRow {
  int number = 0;
  std::string text;
  std::vector<const LineCounts*> counts;  // worst first
};
/// A file with counted lines, from the first line of a kernel to the last counted one.
struct SourceView {
  std::string file;  // its place in the tree
  std::vector<SourceRow> rows;
};
std::vector<SourceView> annotated_source(const CountedRun& run);

/// Returns all counted lines, worst first: by excess cost, then by cost.
std::vector<const LineCounts*> worst_first(const CountedRun& run);

/// Describes nvcc's requests and their widths: "128 of 16 B", "as written", "none", or "?" if not known.
std::string compiled_in_words(const LineCounts& line);
/// Returns whether nvcc's code makes as many requests of the same width, or is not known.
bool compiled_as_written(const LineCounts& line);

/// Returns launches, occupancy, source, worst lines and counters. For a program, `op` and `variant` are null.
std::string trace_tables(const TraceView& view);
std::string trace_html_tables(const TraceView& view);
/// Adds counts, launches and lines.
void add_counts(nlohmann::ordered_json& j, const TraceView& view);
/// Returns what such tables need beyond the report's style.
const char* trace_style();
/// Returns a page with that title and a line of small print below it.
std::string trace_page(const std::string& title, const std::string& small_print, const std::string& content);

std::string trace_text(const TraceView& view);
nlohmann::ordered_json trace_json(const TraceView& view);
std::string trace_html(const TraceView& view);

}  // namespace klab
