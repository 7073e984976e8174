// What `klab check --remember` leaves out: ops whose check has passed with the same code, contract, checker, machine and seed.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "harness/check/check.h"
#include "harness/cli/linked_objects.h"
#include "harness/cli/passed_checks.h"
#include "harness/core/select.h"

namespace klab {

/// Tells apart the code that checks of different variants run; "" where that cannot be told.
using CodeDigest = std::function<std::string(const Selected&)>;

/// Digest of the object files: the variants', their op's and its forward op's, reference and table of the lab, the checker's,
/// and all that these call. A program without its objects (an installed one) has the digest of its own file and of
/// the modules next to it.
CodeDigest code_of_this_program();

class CheckMemory {
 public:
  /// With `again` nothing that passed before counts.
  CheckMemory(std::filesystem::path file, CodeDigest code, const CheckOptions& options, bool again);

  /// Whether all of a selection's variants passed together before. Counts them.
  bool passed_before(const Selected& selected);
  /// Remembers a check without a failure and forgets one with. passed_before() was asked first.
  void keep(const Selected& selected, const OpCheck& results);

  int variants() const { return variants_; }  // that passed before
  const std::string& problem() const { return passed_.problem(); }

 private:
  /// Digest of all that decides what the check does; "" where the code is not known. A variant is checked at the shapes
  /// that the tiles of its whole selection give, so one key covers them all.
  std::string key_of(const Selected& selected);

  PassedChecks passed_;
  CodeDigest code_;
  CheckOptions options_;
  bool again_;
  int variants_ = 0;
  std::map<std::string, std::string> keys_;  // as they were before the check
};

/// Forgets that variants passed which have now failed in a check that remembers nothing itself.
void forget_failed(const Selected& selected, const OpCheck& results, const CheckOptions& options);

}  // namespace klab
