// Are gradients right? Backward ops against differences of their forward, by tensor names alone.
//
// 1. The double backward against central differences of the double forward: check_gradients, "<op>.reference".
// 2. Every variant's backward against the double one: elementwise bound in check(), here relative L2, cosine and
//    signed bias.
// 3. Every variant's backward against its own forward: check_gradients.
// 4. Run twice: check() does that to every op.
// 5. Kinks (ReLU at 0, cell borders) are kept away from by the contract's arrange(); a direction in which the forward
//    has a kink all the same is refused, and counted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/compare.h"
#include "harness/check/crash_guard.h"

namespace klab {

/// Points 1 and 3. `results` are those of `variants`, in order; failures of point 3 are added to them, point
/// 1 is returned as a result of its own. The forward op is found in the labs: std::invalid_argument when none
/// teaches it, or when the tensors' names do not fit together.
CheckResult check_gradients(const LabOp& backward, std::span<const Variant* const> variants,
                            const CheckOptions& options, CrashGuard& guard,
                            std::vector<CheckResult>& results);

/// Point 2 for one output of one run on random inputs: gain, relative L2 error, cosine, signed bias, each against a
/// limit that follows from the tolerance. nullopt: all hold.
std::optional<Failure> judge_gradient(const std::string& tensor, const ErrorSums& sums,
                                      const Tolerance& tolerance);

/// Signed bias over many cases. Within one case all outputs may share one chain of roundings, so their mean
/// error may be as large as a single one. Over n independent cases such errors cancel, down to 4·sqrt(sum of
/// variances)/n, and a lean that stays is a bias; up to 2 roundoffs are granted, one each to a function that
/// is approximated and to its argument. Gradients that lean one way add up over training steps, hence more
/// than the elementwise bound.
struct BiasTally {
  std::string tensor;
  double sum = 0;       // of each case's mean error, in units of unit roundoff times mean magnitude
  double variance = 0;  // of that sum, at most
  int cases = 0;

  void add(const ErrorSums& sums, const Tolerance& tolerance);
  std::optional<Failure> judge() const;
};

}  // namespace klab
