// The port of a page, as an option gives it.
#pragma once

#include <string>

namespace klab {

/// Reads a port, or if the text is empty returns the default one. Throws std::invalid_argument, "<option> fox: ...", with what
/// else may be wrong.
int port_from(const std::string& text, const std::string& option, int otherwise,
              const std::string& hint = "");

}  // namespace klab
