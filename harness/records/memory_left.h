// Memory that this process has and could still have, and the refusal of what needs more.
#pragma once

#include <cstdint>
#include <string>

namespace klab {

/// Bytes that could still be had without swapping: by the system, by the control groups that this process is in, and by
/// its limit on address space. 0 when the system says nothing.
int64_t available_memory();

/// Of this process, by the system: resident now, and at most so far (VmRSS, VmHWM). Bytes; 0 where /proc does not say.
int64_t resident_memory();
int64_t peak_memory();

/// Throws std::runtime_error, "<what> needs about 3.1 GB of memory and 1.2 GB are available: <remedy>".
void require_memory(int64_t bytes, const std::string& what, const std::string& remedy);

}  // namespace klab
