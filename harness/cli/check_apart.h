// Checks variants in processes of their own, so that none can break the others or end the check without a verdict. On a GPU,
// a kernel that faulted disables the device for its whole process.
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
/// one core; one at a time on a GPU. Calls `done(k, results, seconds)` for each selection[k], in this order.
///
/// A process may end without an answer, or run a single call for more than `limit` seconds, and is then ended. The variant that
/// it was checking has failed, and the others are checked again without it.
void check_ops(std::span<const Selected> selection, const CheckOptions& options, double limit,
               const std::function<void(size_t, OpCheck, double)>& done);

/// Sends the answer of such a process, as JSON, to the process that started it.
void send_answer(const std::string& json);

/// Prepares such a process: keeps notes of what it is doing in this file, shows that it is alive, and ends it when the process
/// that started it has ended.
void work_for_another(const std::string& notes);

/// Parses the answer of such a process for one variant. `said` is its standard error: the crash guard's line
/// names shape, pattern and alignment.
CheckResult read_check(const std::string& variant, const std::string& printed, int status,
                       const std::string& said = {});

}  // namespace klab
