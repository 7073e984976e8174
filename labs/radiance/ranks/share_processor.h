// Threads of ranks that run on one machine.
#pragma once

#include "labs/radiance/ranks/ranks.h"

namespace klab {

/// Divides the processor between ranks, unless the user gave a number of threads.
void share_processor(const Ranks& ranks, int threads_given);

}  // namespace klab
