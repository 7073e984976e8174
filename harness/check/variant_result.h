// A variant whose check goes on, and where to note what the check finds.
#pragma once

#include "harness/check/check.h"

namespace klab {

struct VariantResult {
  const Variant* variant;
  CheckResult* result;
};

}  // namespace klab
