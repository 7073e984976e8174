// Memory that this process uses and could still get, and the error for tasks that need more.
#pragma once

#include <cstdint>
#include <string>

namespace klab {

/// Returns the bytes that can still be allocated without swapping, limited by the system, the process's
/// control groups, and its limit on address space. Returns 0 if the system does not report it.
int64_t available_memory();

/// Returns this process's resident memory, now and at its peak (VmRSS, VmHWM). Bytes; 0 if /proc does not
/// report it.
int64_t resident_memory();
int64_t peak_memory();

/// Throws std::runtime_error, "<what> needs about 3.1 GB of memory and 1.2 GB are available: <remedy>".
void require_memory(int64_t bytes, const std::string& what, const std::string& remedy);

}  // namespace klab
