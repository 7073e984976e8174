// Breaks lines that are longer than a terminal is wide.
#pragma once

#include <string>

#include "harness/report/table.h"

namespace klab {

/// Breaks each line of more than `width` columns at spaces; its other lines are indented by `more` columns beyond its own
/// indentation. Escape codes take no column. A word that is longer than a line stays whole.
std::string wrapped(const std::string& text, int width, int more = 4);

/// The same for a terminal, and where COLUMNS says how wide the output is. Elsewhere the text stays as it is.
std::string fitted(const std::string& text, const Paper& on = paper(), int more = 4);

}  // namespace klab
