// CUDA variants timed on a GPU, by the events of the GPU itself.
#pragma once

#include <span>
#include <vector>

#include "harness/timing/bench.h"

namespace klab {

/// Times variants on the GPU by its own events: every variant in every round, in random order. Hot: one set of tensors,
/// which L2 holds if it can; cold: as many sets as together exceed L2 four times, in turn.
std::vector<Series> time_on_gpu(const LabOp& op, const BenchShape& shape,
                                std::span<const Variant* const> variants, const BenchOptions& options);

}  // namespace klab
