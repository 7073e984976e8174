// The end of one thread of a kernel, wherever it is.
#pragma once

namespace klab::simt {

/// Ends the running thread: exit in PTX.
[[noreturn]] void exit_thread();

}  // namespace klab::simt
