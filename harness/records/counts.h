// The memory accesses of one call of a CUDA variant, counted on the host: requests, sectors, bank conflicts,
// line by line. Exact and independent of the machine.
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

/// Returns a file's place in the tree, kernels/transpose/cuda/01_naive.cu, for any path given to the
/// compiler.
std::string place_in_tree(const std::string& file);

struct CountedRun {
  std::string variant;
  std::vector<int64_t> shape;
  uint64_t seed = 1;
  std::vector<simt::LaunchRecord> launches;  // equal ones merged
  std::vector<LineCounts> lines;             // sorted by file and line
  std::vector<simt::Finding> findings;
  std::string error;     // error of the launch that failed; then the rest holds the counts up to it
  Cost compulsory;       // from the contract
  int64_t copied = 0;    // bytes between host and device
  int64_t staged = 0;    // part of `copied` from or to pageable memory, which a host core copies once more
  int64_t bus_path = 0;  // bytes that one direction of the bus carries until the last copy ends (simt::Bus)
  std::string compiled_by;  // compiler of the code that `compiled` counts in lines; empty: not counted
  std::string no_compiled;  // reason why it was not counted; empty: not requested
  double moved = 0;         // bytes of all global sectors: traffic between L1 and L2 if L1 never hits
};

/// Runs a CUDA variant once on the host, on random inputs, and watches every access. Throws
/// std::invalid_argument with the reason if it cannot run there. `compiled`: count by nvcc's machine code as
/// well. `threads` host threads run the blocks of a grid; the counts do not depend on their number.
CountedRun count_run(const LabOp& op, const Variant& variant, ShapeView shape, uint64_t seed,
                     const simt::CompiledCode* compiled = nullptr, int threads = 1);

/// Returns the sum over the lines for which `wanted` returns true.
template <class F>
simt::Counts sum_of(const CountedRun& run, F wanted) {
  simt::Counts sum;
  for (const LineCounts& l : run.lines)
    if (wanted(l)) sum.add(l.counts);
  return sum;
}

/// Returns the same sum of the counts as compiled. Lines of kernels that are missing in the machine code
/// count as written.
template <class F>
simt::Counts compiled_sum_of(const CountedRun& run, F wanted) {
  simt::Counts sum;
  for (const LineCounts& l : run.lines)
    if (wanted(l)) sum.add(l.compiled_known ? l.compiled : l.counts);
  return sum;
}

/// Returns totals under the names used in rows. Counts that are zero because the kernel has no such access
/// are left out.
std::map<std::string, int64_t> counts_of(const CountedRun& run);

/// Returns the lab's shape for counts in the tour. If it has none, returns the tour's shape, halved until a
/// watched run takes well under a second.
std::vector<int64_t> shape_for_counting(const LabOp& op);

/// Returns rows without times for CUDA variants when there is no GPU: the reason, and the counts of one call.
/// Empty for CPU variants, and if there is a GPU.
std::vector<Row> counted_rows(const LabOp& op, std::span<const Variant* const> variants);
/// Appends such rows for variants given by id, of any op.
void append_counts(Recording& run, const std::vector<std::string>& variants);

}  // namespace klab
