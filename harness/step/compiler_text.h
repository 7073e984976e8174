// What a compiler says, cut down to what a learner needs: the first error, and each warning once.
#pragma once

#include <string>

namespace klab {

/// The first error with the line it is about; where that line is not the learner's, also the learner's line that led there.
/// How many more there are is said in a line. A message without an error (the compiler was stopped, the linker complains)
/// stays, its first lines. A file is compiled once for each instruction set and form, and says everything as often.
std::string first_error(const std::string& message);

/// Each warning with its line, once, and a few of them.
std::string warnings_once(const std::string& message);

}  // namespace klab
