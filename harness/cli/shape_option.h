// --shape: the sizes of one call, by hand.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/lab.h"

namespace CLI {
class App;
}

namespace klab {

/// The option; `text` for --help.
void add_shape(CLI::App& app, std::vector<int64_t>& shape, const char* text);

/// Throws std::invalid_argument when the shape has another number of extents than the op, when the contract does not have it,
/// and std::runtime_error when its tensors, and those that they are compared with, do not fit into memory.
void require_shape(const LabOp& op, const std::vector<int64_t>& shape);

}  // namespace klab
