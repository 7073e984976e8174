// Before anything is called fast, `klab check` with all its patterns decides whether it is right: once for a build of this
// program on a machine.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/core/registry.h"

namespace klab {

/// For each variant what check() found first, or nothing where it passed or could not run. Who has passed is kept in the
/// file checked.json beside this program (where that folder cannot be written, in $XDG_CACHE_HOME/klab), under a digest of
/// the program, the machine and the seed: a program that has not changed is not checked again. A variant that failed always is. `stop` ends it early: what was not checked then counts as passed and is not kept.
std::vector<std::string> full_check(const LabOp& op, std::span<const Variant* const> variants, uint64_t seed,
                                    const std::function<bool()>& stop);

/// Where that is kept; for tests, and for those who want it gone. Empty where nothing can be written.
std::string full_check_file();

}  // namespace klab
