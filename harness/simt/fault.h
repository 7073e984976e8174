// Handles signals raised inside a kernel, where the host's processor rejects an access that a GPU would
// reject.
#pragma once

#include <csignal>

namespace klab::simt {

/// Must be called first in a handler of SIGSEGV, SIGBUS or SIGFPE. If the signal struck a thread of a running
/// kernel, the launch ends with a finding and this does not return. Otherwise it does nothing.
void kernel_fault(int signal, const siginfo_t* info, const void* context);

}  // namespace klab::simt
