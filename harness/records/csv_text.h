// Cells of comma-separated values.
#pragma once

#include <string>

namespace klab {

/// Returns the text as one cell: quoted if necessary, with line ends as spaces.
std::string csv_quoted(std::string text);

}  // namespace klab
