// Computes the least time that a GPU needs for the work counted on the host, and names the limit.
//
// This is a bound, not a prediction: no schedule, cache or occupancy can beat it. It ignores waiting. Each
// limit is evaluated alone, as if all others cost nothing:
//
//   DRAM                   the bytes that the contract calls compulsory, once
//   L1 and shared memory   one pass of 128 bytes per clock and multiprocessor. A request to global memory
//   takes
//                          at least one pass, and one for every four sectors. A request to shared memory
//                          takes
//                          its wavefronts, as if the compiler merged a thread's neighboring accesses into
//                          accesses of 16 bytes. It may do that if it knows the alignment of an array, and a
//                          wide
//                          access takes at least the time of its narrow ones divided by their number
//   L2                     sectors that are stored or changed by atomics, which L1 passes on, 32 bytes each.
//   Only
//                          for GPUs whose white paper states L2's bytes per clock. Loads may hit in L1
//   instructions           a warp's loads and stores, and one multiply-add for every 64 FLOPs, at four per
//   clock
//   multiply-adds          the contract's FLOPs. On tensor cores if a variant's arithmetic or its operands
//   are
//                          narrower than single precision, at twice the rate for 8 bits
//
// Blocks share multiprocessors at best evenly: with b equal blocks on S multiprocessors, one gets ceil(b/S).
// Launches are counted, but cost nothing here.
#pragma once

#include <vector>

#include "harness/records/counts.h"
#include "harness/simt/gpus.h"
#include "harness/simt/profile.h"

namespace klab {

/// The counted work, as far as a limit uses it.
struct CountedWork {
  double dram_bytes = 0;
  double passes = 0;    // through L1 and shared memory
  double written = 0;   // sectors of global memory written by stores and atomics
  double requests = 0;  // loads, stores and atomics per warp
  double flops = 0;
  int tensor = 0;  // multiple of the half-precision rate that tensor cores may use; 0: they may not be used
  double blocks = 0;  // of the largest launch
  double launches = 0;

  /// Returns `factor` times the work, in `factor` times the blocks.
  CountedWork times(double factor) const;
};

/// Returns the cost of a call by the contract, without any counts.
CountedWork work_of_contract(const Cost& compulsory, const Variant& variant);
CountedWork work_of(const CountedRun& run, const Variant& variant);
/// Returns the work that a watched session has seen. `compulsory` is the cost of its calls by the contract.
CountedWork work_of(const simt::Profile& profile, const Cost& compulsory, const Variant& variant);

struct LeastTime {
  struct Limit {
    const char* name;
    double seconds;
  };
  std::vector<Limit> limits;  // largest first
  double seconds() const { return limits.front().seconds; }
};

LeastTime least_time(const CountedWork& work, const simt::GpuModel& gpu);

}  // namespace klab
