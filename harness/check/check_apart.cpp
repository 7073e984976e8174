#include "harness/check/check_apart.h"

#include "harness/check/far_offsets.h"
#include "harness/check/host_side.h"

namespace klab {

void check_apart(const LabOp& op, std::span<const VariantResult> all, std::span<const VariantResult> few,
                 const std::vector<std::vector<int64_t>>& shapes, const CheckOptions& options,
                 CrashGuard& guard) {
  if (options.quick || !options.shape.empty() || options.most_shapes > 0) return;
  check_host_side(op, all, shapes, options, guard);
  check_many_blocks(op, few, options, guard);
  check_far_offsets(op, all, options, guard);
}

}  // namespace klab
