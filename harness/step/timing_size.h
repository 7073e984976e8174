// Chooses the size at which a step is timed, and that at which a CUDA step is counted.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/step/step.h"

namespace klab {

/// Returns the size for which klab's rung makes its claim, else that of the lab's tour, else the lab's first.
/// Halves it if a call of the parent or of the reference would keep the learner waiting too long.
BenchShape timing_size(const Step& step);

/// Returns the claimed speedup of klab's rung over its parent at that size; 0 if the claim is for another
/// size, or there is none.
double expected_at(const Step& step, const BenchShape& size);

/// Returns up to two other sizes that the lab times, made small. A rung that depends on its size is tested
/// there as well.
std::vector<BenchShape> other_sizes(const Step& step, const BenchShape& timed);

/// Returns a size for counting: the largest dimension is halved until the host executes it in about a second
/// with every access watched.
std::vector<int64_t> counting_shape(const Step& step);

/// Returns the lab's other sizes, shrunk likewise.
std::vector<std::vector<int64_t>> other_counting_shapes(const Step& step,
                                                        const std::vector<int64_t>& counted);

}  // namespace klab
