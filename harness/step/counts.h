// What CUDA variants do when the host executes them, in numbers that do not depend on the machine.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "harness/step/speed.h"
#include "harness/step/step.h"

namespace klab {

/// One access of the source that costs more than it must.
struct WastefulAccess {
  std::string file;
  int line = 0;
  bool write = false, shared = false;
  double cost = 0, ideal = 0;  // sectors, or wavefronts, per request
  int64_t requests = 0;
  int64_t stride = 0;   // bytes between lanes
  std::string counted;  // the count of StepCounts that it adds to
};

struct VariantCounts {
  StepCounts counts;                     // "load sectors", "store sectors", "bank conflicts", ...
  std::vector<WastefulAccess> wasteful;  // worst first, of what is twice its ideal or more
};

/// Runs a variant once at that shape, every access watched. Throws what the variant throws.
VariantCounts count_variant(const LabOp& op, const Variant& variant, ShapeView shape, uint64_t seed);

/// Parent, yours and klab's own: {"shape", "parent", "yours", "own", "wasteful"}.
nlohmann::json counts_of_step(const Step& step, const Variant& yours, uint64_t seed);

}  // namespace klab
