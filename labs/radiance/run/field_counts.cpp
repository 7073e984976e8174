#include "labs/radiance/run/field_counts.h"

#include <algorithm>

#include "harness/core/registry.h"

namespace klab {

FieldCounts counts_of(const FieldSettings& settings) {
  FieldCounts counts;
  double at_random = 0, most = 0;
  for (const PlannedCall& call : run_calls(settings, 1, "cpu")) {
    if (!(call.times > 0)) continue;  // of pictures
    const Cost cost = find_op(call.op)->op.cost(call.shape);
    counts.flops += call.times * cost.flops;
    counts.bytes += call.times * cost.bytes;
    at_random +=
        call.times * std::min(cost.bytes, std::max(cost.table_bytes, cost.gathers * cost.entry_bytes));
    if (call.times * cost.flops <= most) continue;
    most = call.times * cost.flops;
    counts.width = call.shape.front();
  }
  const double samples = double(std::max<int64_t>(1, batch_samples(settings)));
  counts.random = counts.bytes > 0 ? at_random / counts.bytes : 0;
  counts.flops /= samples;
  counts.bytes /= samples;
  return counts;
}

}  // namespace klab
