// What one call of a CUDA variant does, counted on the host: requests, sectors, bank conflicts, line by line. Exact, and
// the same on every machine.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/records/rows.h"
#include "harness/simt/compiled_code.h"
#include "harness/simt/finding.h"
#include "harness/simt/line_counts.h"
#include "harness/simt/profile.h"

namespace klab {

/// A file by its place in the tree, kernels/transpose/cuda/01_naive.cu, whatever path the compiler was given.
std::string place_in_tree(const std::string& file);

struct CountedRun {
  std::string variant;
  std::vector<int64_t> shape;
  uint64_t seed = 1;
  std::vector<simt::LaunchRecord> launches;  // equal ones together
  std::vector<LineCounts> lines;             // by file and line
  std::vector<simt::Finding> findings;
  std::string error;     // the launch that failed; then the rest holds what was seen until then
  Cost compulsory;       // by the contract
  int64_t copied = 0;    // bytes between host and device
  int64_t staged = 0;    // of those, from or to pageable memory: copied once more by a core of the host
  int64_t bus_path = 0;  // bytes of one direction of the bus that pass until the last copy ends (simt::Bus)
  std::string compiled_by;  // who made the code that `compiled` of the lines counts; empty: not counted
  std::string no_compiled;  // why it is not; empty: nobody asked
  double moved = 0;         // bytes of all global sectors: between L1 and L2, if L1 catches nothing
};

/// Runs a CUDA variant once on the host, on random inputs, watching every access. Throws std::invalid_argument where it
/// cannot be run there, with the reason.
/// `compiled`: count by what nvcc made of it as well. `threads` of the host run the blocks of a grid; counts are the same.
CountedRun count_run(const LabOp& op, const Variant& variant, ShapeView shape, uint64_t seed,
                     const simt::CompiledCode* compiled = nullptr, int threads = 1);

/// The sum of the lines for which `wanted` says yes.
template <class F>
simt::Counts sum_of(const CountedRun& run, F wanted) {
  simt::Counts sum;
  for (const LineCounts& l : run.lines)
    if (wanted(l)) sum.add(l.counts);
  return sum;
}

/// The same of what was counted as compiled. Lines whose kernel was not found in the machine code count as written.
template <class F>
simt::Counts compiled_sum_of(const CountedRun& run, F wanted) {
  simt::Counts sum;
  for (const LineCounts& l : run.lines)
    if (wanted(l)) sum.add(l.compiled_known ? l.compiled : l.counts);
  return sum;
}

/// Totals by name, as rows carry them. What is zero because the kernel has no such access is left out.
std::map<std::string, int64_t> counts_of(const CountedRun& run);

/// The lab's shape for counts in the tour; where it names none, the tour's, halved until a watched run takes well under a
/// second.
std::vector<int64_t> shape_for_counting(const LabOp& op);

/// Rows without times, for CUDA variants where there is no GPU: why, and the counts of one call. Empty for variants of
/// the processor, and where there is a GPU.
std::vector<Row> counted_rows(const LabOp& op, std::span<const Variant* const> variants);
/// Adds those of variants given by id, whatever their op.
void append_counts(Recording& run, const std::vector<std::string>& variants);

}  // namespace klab
