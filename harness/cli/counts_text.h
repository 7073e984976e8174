// Counts of CUDA rungs as people read them, where there is no GPU to time them on.
#pragma once

#include <string>
#include <vector>

#include "harness/records/rows.h"

namespace klab {

/// A table of the rows that hold counts, with what is to be said of them beside their shape; "" when there are none.
std::string counts_text(
    const std::vector<Row>& rows,
    const std::string& remark = "no GPU here: counted, not timed; klab trace VARIANT shows where");

}  // namespace klab
