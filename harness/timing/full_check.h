// Before anything is called fast, `klab check` with all its patterns decides whether it is right: once for a build of this
// program on a machine.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"

namespace klab {

struct FullCheck {
  /// For each variant what check() found first, or nothing where it passed or could not run.
  std::vector<std::string> wrong;
  std::vector<CheckResult> results;  // of those that were checked now, then of the reference of a backward op
  int before = 0;                    // variants that passed before
};

/// Checks variants that have not passed before. Those that have are kept in the file checked.json next to this program (in
/// $XDG_CACHE_HOME/klab where that folder cannot be written), under a digest of the program, the machine and the seed. A
/// variant that failed is checked again each time. `stop` ends it early: what was not checked then counts as passed and is
/// not kept.
FullCheck full_check(const LabOp& op, std::span<const Variant* const> variants, uint64_t seed,
                     const std::function<bool()>& stop);

/// Where that is kept; for tests, and for those who want it gone. Empty where nothing can be written.
std::string full_check_file();

}  // namespace klab
