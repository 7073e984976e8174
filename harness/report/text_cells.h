// Cells of text tables: CSV and LaTeX.
#pragma once

#include <string>

namespace klab {

/// Quotes a cell of a CSV if it needs that.
std::string csv_cell(const std::string& text);

/// Escapes text for LaTeX.
std::string latex_text(const std::string& text);

}  // namespace klab
