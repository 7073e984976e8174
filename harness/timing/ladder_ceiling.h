// The ceiling of a ladder: of all resources that its op needs, the one that takes longest.
#pragma once

#include <memory>

#include "harness/timing/bench.h"
#include "harness/timing/bench_inputs.h"
#include "harness/timing/ceilings.h"

namespace klab {

/// Samples every resource that the op needs at that shape, writes them into `ladder.resources`, the longest first, with the name,
/// method and work of that one as the ladder's ceiling, and returns its sampler for the rounds; nullptr where the op has none.
/// A copy's bandwidth is measured with the operands of the ladder itself where these are cold and fit for it; `turn` is the
/// copy of them that comes next.
std::unique_ptr<CeilingSampler> binding_ceiling(const LabOp& op, const BenchShape& shape,
                                                const BenchInputs& inputs, size_t& turn, Ladder& ladder);

/// What one call of a variant has to do in units of the ladder's ceiling: Ladder::ceiling_work, or half of it where that
/// counts float's multiply-adds and the variant's factors have 16 bits, of which an instruction does twice as many; no less
/// than the next resource asks for.
double ceiling_work_of(const Ladder& ladder, const Variant& variant);

}  // namespace klab
