// The checker is checked: small changes to a variant's source, each compiled and checked in a process of its own. What
// survives names either a hole in the check or something that a kernel does and nobody needs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/step/mutations.h"
#include "harness/step/step.h"

namespace klab {

struct MutantResult {
  enum class How { killed, survived, does_not_compile, equivalent, not_judged };
  std::string variant;
  std::string file;  // from the root of the tree
  Mutation mutation;
  How how = How::survived;
  std::string by;  // what killed it: "wrong value in c[3,17], ..."; of what was not judged, why
};
const char* name_of(MutantResult::How how);

struct MutateOptions {
  size_t most = 0;  // a variant; 0: all
  uint64_t seed = 1;
  int threads = 0;
  double seconds = 60;  // that one may take
  /// After each mutant: how many of how many of this variant are done.
  std::function<void(const MutantResult&, size_t done, size_t all)> progress = {};
  std::function<bool()> stop = {};
};

/// A variant as a step from itself, so that what checks a learner's file checks a changed one.
Step step_of(const Variant& variant);

/// Throws std::runtime_error where the variant's source is not at hand, or does not pass its own check when compiled alone.
std::vector<MutantResult> mutate(const Variant& variant, const MutateOptions& options);

}  // namespace klab
