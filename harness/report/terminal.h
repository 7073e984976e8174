// What a terminal can do: some that are called terminals show escape codes as text.
#pragma once

namespace klab {

/// Returns whether lines on that file descriptor can be overwritten: it is a terminal, and TERM names one that knows escape
/// codes. Shells of editors and logs of builds set TERM=dumb, or do not set it.
bool overwrites_lines(int file);

}  // namespace klab
