// Reduces compiler messages to what a learner needs: the first error, and each warning once.
#pragma once

#include <string>

namespace klab {

/// Returns the first error with its line. If that line is not the learner's, adds the learner's line that led
/// to it. Adds the number of further errors. A message without an error (the compiler was stopped, or the
/// linker failed) keeps its first lines. A file is compiled once for each instruction set and form, and
/// messages repeat each time.
std::string first_error(const std::string& message);

/// Returns a few warnings with their lines, each once.
std::string warnings_once(const std::string& message);

}  // namespace klab
