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

/// Checks variants on the GPU at that shape and times those that pass; puts their series, or what is wrong, in the place of
/// their entries in `ladder`. They share no rounds with what runs on the processor.
void check_and_time_on_gpu(const LabOp& op, const BenchShape& shape, std::span<const Variant* const> variants,
                           const BenchOptions& options, Ladder& ladder);

/// A ladder of CUDA variants only: none of the processor's memory is filled with copies, and no ceiling of it is sampled.
Ladder bench_on_gpu(const LabOp& op, const BenchShape& shape, std::span<const Variant* const> variants,
                    const BenchOptions& options);

}  // namespace klab
