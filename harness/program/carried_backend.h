// A device for programs whose arrays live in the host's memory and change their size: every call carries its tensors there and
// its results back.
#pragma once

#include "harness/program/backend.h"

namespace klab {

/// Returns a backend in the host's memory whose calls run on `device`, or the device itself if that is in the host's memory. A
/// device that is lost leaves the host's arrays as the last complete call left them.
Backend carried_backend(const Backend& device);

}  // namespace klab
