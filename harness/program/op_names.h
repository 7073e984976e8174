// Names of ops, by their contracts: a list of ops that a program calls cannot have a wrong name.
#pragma once

#include <string>
#include <vector>

namespace klab {

/// Returns the ops of these contracts, in order.
template <class... Contracts>
std::vector<std::string> op_names() {
  return {std::string(Contracts::name)...};
}

}  // namespace klab
