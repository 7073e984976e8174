// The option --shape: the sizes of one call, given by hand.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/lab.h"

namespace CLI {
class App;
}

namespace klab {

/// Adds the option; `text` is for --help.
void add_shape(CLI::App& app, std::vector<int64_t>& shape, const char* text);

/// Throws std::invalid_argument if the number of extents is not the op's, or the shape is invalid for its
/// contract. Throws std::runtime_error if its tensors, and those for comparison, do not fit in memory.
void require_shape(const LabOp& op, const std::vector<int64_t>& shape);

}  // namespace klab
