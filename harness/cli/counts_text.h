// Counts of CUDA rungs as people read them, where there is no GPU to time them on.
#pragma once

#include <string>
#include <vector>

#include "harness/records/rows.h"

namespace klab {

/// A table of the rows that hold counts, with the reason why they hold no times; "" when there are none.
std::string counts_text(const std::vector<Row>& rows);

}  // namespace klab
