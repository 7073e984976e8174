// Watches a step on the host executor and counts the work of each of its ops.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/records/bound.h"
#include "labs/radiance/train/backends.h"

namespace klab {

/// Sums over all calls of one op.
struct OpWork {
  std::string variant;
  int64_t calls = 0, launches = 0;
  int64_t sectors = 0, wavefronts = 0, atomics = 0;  // of memory, of shared memory, lanes of atomics
  double compulsory = 0;                             // bytes, by the contract
  double least_seconds = 0;  // the sum of the calls' least times on the named GPU (bound.h)
  std::string binds;         // the limit of the call that needs most
  double binds_seconds = 0;
  void add(const OpWork& other);
};

struct StepCounts {
  std::map<std::string, OpWork> ops;
  std::vector<std::string> findings;
  OpWork total() const;
};

/// Returns simt_backend(), but every call is watched and added to `counts`.
Backend counting_backend(std::shared_ptr<StepCounts> counts);

}  // namespace klab
