// Reads the text of a shape, as rows of records hold it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/op.h"

namespace klab {

/// Returns the extents of a text that shape_text() made for this op ("n=1024 k=3"). Empty for any other text.
std::vector<int64_t> shape_from_text(const Op& op, const std::string& text);

}  // namespace klab
