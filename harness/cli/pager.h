// Shows a long text page by page.
#pragma once

#include <string>

namespace klab {

/// Prints the text. On a terminal with fewer lines than the text has, $PAGER shows it, or less; PAGER= (empty) or cat turns
/// that off.
void print_paged(const std::string& text);

}  // namespace klab
