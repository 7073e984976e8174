// A whole output tensor at once: what single elements, each within its bound, add up to.
//
// Roundings of many elements do not all lean one way. An output that is right in each element may still be 1.001 times
// what it should be, or be as coarse as bfloat16, where bounds are wide; over the whole tensor both stand out.
#pragma once

#include <optional>
#include <string>

#include "harness/check/check.h"
#include "harness/check/compare.h"

namespace klab {

/// The largest distance of the gain, sum(got·reference)/sum(reference²), from 1 that random roundings explain: that of a
/// chain of roundings which all elements share, twice its root mean square; no more than the proven bound.
double gain_limit(const ErrorSums& sums, const Tolerance& tolerance);

/// The relative L2 error and the gain of one output of one run on random inputs. nullopt: both hold.
std::optional<Failure> judge_output(const std::string& tensor, const ErrorSums& sums,
                                    const Tolerance& tolerance, Fault fault = Fault::whole_output);

/// The largest relative L2 error, times the norm of the reference, that random roundings explain.
double l2_limit(const ErrorSums& sums, const Tolerance& tolerance);

}  // namespace klab
