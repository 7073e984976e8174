// Variants checked in processes of their own: what one breaks, the others do not feel. A GPU, after a kernel that faulted,
// does nothing more for its process.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/core/select.h"

namespace klab {

/// Each variant of these as a selection of its own.
std::vector<Selected> one_by_one(std::span<const Selected> selection);

/// Checks ops in processes of their own, as many at a time as there are cores, since most of a check keeps one core busy. Calls
/// `done(k, results, seconds)` for each selection[k], in this order; a process that ends without an answer is a failure of
/// all its variants.
void check_ops(std::span<const Selected> selection, const CheckOptions& options,
               const std::function<void(size_t, OpCheck, double)>& done);

/// What one such process printed, for that variant. `said` is what it wrote to standard error: the crash guard's line there
/// names shape, pattern and alignment.
CheckResult read_check(const std::string& variant, const std::string& printed, int status,
                       const std::string& said = {});

}  // namespace klab
