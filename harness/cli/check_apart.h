// Checks variants in processes of their own, so that one cannot break the others. On a GPU, a kernel that
// faulted disables the device for its whole process.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/core/select.h"

namespace klab {

/// Splits a selection into one per variant.
std::vector<Selected> one_by_one(std::span<const Selected> selection);

/// Checks ops in processes of their own, as many concurrently as there are cores, since most of a check uses
/// one core. Calls `done(k, results, seconds)` for each selection[k], in this order. A process that ends
/// without an answer counts as a failure of all its variants.
void check_ops(std::span<const Selected> selection, const CheckOptions& options,
               const std::function<void(size_t, OpCheck, double)>& done);

/// Parses the output of such a process for one variant. `said` is its standard error: the crash guard's line
/// names shape, pattern and alignment.
CheckResult read_check(const std::string& variant, const std::string& printed, int status,
                       const std::string& said = {});

}  // namespace klab
