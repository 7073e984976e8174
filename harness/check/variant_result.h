// A variant of a check that is under way, and where to note what it does.
#pragma once

#include "harness/check/check.h"

namespace klab {

struct VariantResult {
  const Variant* variant;
  CheckResult* result;
};

}  // namespace klab
