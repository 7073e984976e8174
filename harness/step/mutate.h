// Tests the checker itself: makes small changes to a variant's source, and compiles and checks each in its
// own process. A surviving mutant reveals either a gap in the check or code that the kernel does not need.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/step/answer.h"
#include "harness/step/mutations.h"
#include "harness/step/step.h"

namespace klab {

struct MutantResult {
  enum class How { killed, survived, does_not_compile, equivalent, not_judged };
  std::string variant;
  std::string file;  // relative to the root of the tree
  Mutation mutation;
  How how = How::survived;
  // the failure that killed it: "wrong value in c[3,17], ..."; or the reason why it was not judged
  std::string by;
};
const char* name_of(MutantResult::How how);

/// Returns what the outcome of a mutant's check says of the mutant.
MutantResult::How how_of(Outcome outcome);

struct MutateOptions {
  size_t most = 0;  // per variant; 0: all
  uint64_t seed = 1;
  int threads = 0;
  double seconds = 60;  // limit for one mutant
  /// Called after each mutant with the number done and the total of this variant.
  std::function<void(const MutantResult&, size_t done, size_t all)> progress = {};
  std::function<bool()> stop = {};
};

/// Returns a variant as a step from itself, so that the check for learners' files can check a mutant.
Step step_of(const Variant& variant);

/// Throws std::runtime_error if the variant's source is missing, or fails its own check when compiled alone.
std::vector<MutantResult> mutate(const Variant& variant, const MutateOptions& options);

}  // namespace klab
