// At which size a step is timed, and at which a CUDA step is counted.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/step/step.h"

namespace klab {

/// Where klab's rung says what it brings; else the size of the lab's tour; else its first. Halved where a call of the
/// parent, or the reference, would take longer than a learner likes to wait.
BenchShape timing_size(const Step& step);

/// What klab's rung claims over its parent at that size; 0 when it is not the size the claim is for, or there is none.
double expected_at(const Step& step, const BenchShape& size);

/// Up to two other sizes that the lab is timed at, made small: what a rung that minds its sizes, or lengths, is held to as
/// well.
std::vector<BenchShape> other_sizes(const Step& step, const BenchShape& timed);

/// A size for counting: the largest dimension halved until the host executes it with every access watched in about a
/// second.
std::vector<int64_t> counting_shape(const Step& step);

/// The other sizes that the lab is timed at, made as small.
std::vector<std::vector<int64_t>> other_counting_shapes(const Step& step,
                                                        const std::vector<int64_t>& counted);

}  // namespace klab
