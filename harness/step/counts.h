// Counts of CUDA variants executed on the host, which do not depend on the machine.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "harness/step/speed.h"
#include "harness/step/step.h"

namespace klab {

/// An access in the source that costs more than necessary.
struct WastefulAccess {
  std::string file;
  int line = 0;
  bool write = false, shared = false;
  double cost = 0, ideal = 0;  // sectors, or wavefronts, per request
  int64_t requests = 0;
  int64_t stride = 0;   // bytes between lanes
  std::string counted;  // the count of StepCounts that it contributes to
};

struct VariantCounts {
  StepCounts counts;                     // "load sectors", "store sectors", "bank conflicts", ...
  std::vector<WastefulAccess> wasteful;  // worst first, accesses with at least twice their ideal cost
};

/// Runs a variant once at that shape and watches every access. Exceptions of the variant pass through.
VariantCounts count_variant(const LabOp& op, const Variant& variant, ShapeView shape, uint64_t seed);

/// Counts the parent, your variant and klab's own: {"shape", "parent", "yours", "own", "wasteful"}.
nlohmann::json counts_of_step(const Step& step, const Variant& yours, uint64_t seed);

}  // namespace klab
