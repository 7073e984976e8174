// The functions of a shared header that a rung calls, as a learner calls them.
#pragma once

#include <string>
#include <vector>

namespace klab {

/// Returns a line for each function that `header` defines at the beginning of a line and `code` calls, in the header's order: its name,
/// its parameters' names and the first sentence of the comment above it, "exp_minus(d, x): exp(-x) for x >= 0." Of overloads the first.
std::vector<std::string> helper_calls(const std::string& header, const std::string& code);

}  // namespace klab
