// The device as the executor uses it, apart from the kernels that ask for it: a check tells by their questions whether a grid depends
// on the device.
#pragma once

#include <cstdint>

#include "harness/simt/runtime_api.h"

namespace klab::simt {

/// Returns what device_limits() does, without counting it as a question.
const DeviceLimits& limits_for_launch();

/// Returns how often code of variants has asked this host thread for the device.
uint64_t device_questions();

}  // namespace klab::simt
