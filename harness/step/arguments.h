// What the arguments of an operation mean, as its contract says.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace klab {

/// Returns the pointers of `struct Args` in a contract's text, each with the comment behind it: {"in", "[m,n] f32
/// row-major, input"}. A comment that goes on in the next lines is joined.
std::vector<std::pair<std::string, std::string>> arguments_in(const std::string& contract);

/// The same for an operation, from reference/<op>/<op>.h; empty if that has no such text.
std::vector<std::pair<std::string, std::string>> arguments_of(const std::string& op);

}  // namespace klab
