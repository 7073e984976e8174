// Cells of comma-separated values.
#pragma once

#include <string>

namespace klab {

/// The text as one cell: in quotation marks where it needs them, line ends as spaces.
std::string csv_quoted(std::string text);

}  // namespace klab
