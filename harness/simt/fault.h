// Signals that strike in the middle of a kernel: the host's processor refuses what the GPU would refuse.
#pragma once

#include <csignal>

namespace klab::simt {

/// To be called first in a handler of SIGSEGV, SIGBUS or SIGFPE. When the signal struck a thread of a running kernel the
/// launch ends with a finding, and this does not return; else it does nothing.
void kernel_fault(int signal, const siginfo_t* info, const void* context);

}  // namespace klab::simt
