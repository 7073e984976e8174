// The least time that a GPU needs for what was counted on the host, and which of its limits that is.
//
// A bound, no prediction: it says what no schedule, no cache and no occupancy can make faster. What a kernel waits for, it does
// not know. Each limit is taken by itself, as if all others cost nothing:
//
//   DRAM                   the bytes that the contract calls compulsory, once
//   L1 and shared memory   one pass of 128 bytes a clock and multiprocessor: a request for memory takes one at least, and one
//                          for every four sectors; a request for shared memory its wavefronts, as if
//                          the compiler joined neighboring accesses of a thread into such of 16 bytes, which it may where it
//                          knows how an array is aligned: no wide access takes less than its narrow ones divided by their number
//   L2                     sectors that are stored or changed by atomics, which L1 passes on, 32 bytes each; of GPUs whose white
//                          paper says what L2 moves in a clock. What is loaded L1 may have
//   instructions           a warp's loads and stores, and one multiply-add for every 64 FLOPs, at four a clock
//   multiply-adds          the contract's FLOPs, by tensor cores where a variant's arithmetic or what it is given is narrower than
//                          single precision, at twice their rate where that has 8 bits
//
// Blocks do not share a multiprocessor's time better than evenly: of b equal blocks on S multiprocessors one has ceil(b/S).
// Launches are counted and cost nothing here.
#pragma once

#include <vector>

#include "harness/records/counts.h"
#include "harness/simt/gpus.h"
#include "harness/simt/profile.h"

namespace klab {

/// What was counted, as far as a limit asks for it.
struct CountedWork {
  double dram_bytes = 0;
  double passes = 0;    // of L1 and shared memory
  double written = 0;   // sectors of global memory, by stores and atomics
  double requests = 0;  // loads, stores and atomics of a warp
  double flops = 0;
  int tensor = 0;  // how many times their rate for half precision tensor cores may do them; 0: they may not
  double blocks = 0;  // of the launch with the most
  double launches = 0;

  /// The same work so many times over, in as many times the blocks.
  CountedWork times(double factor) const;
};

/// What the contract says a call costs, and nothing that was counted.
CountedWork work_of_contract(const Cost& compulsory, const Variant& variant);
CountedWork work_of(const CountedRun& run, const Variant& variant);
/// The same of what a watched session has seen, of calls that the contract says cost so much.
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
