// What klab train takes of what klab tune has found.
#pragma once

#include <cstdio>

#include "labs/radiance/run/run.h"
#include "labs/radiance/tune/tune.h"

namespace klab {

/// What was said on the command line, and so is not overruled.
struct OnCommandLine {
  bool threads = false, workers = false, ahead = false;
};

/// Puts what is remembered for this machine into `run` and into OpenMP, where nothing else was given, and says so in a line:
/// threads, workers, prefetch and block sizes of CUDA rungs, which change nothing that is learned. With `batch` the batch, too: where none is remembered for a
/// run of that length, up to twice and down to half of it, it is looked for now and remembered. A file that cannot be read is said
/// and left out. Throws std::runtime_error for a batch of a run that has no length in seconds, and what tune() throws. False: it was
/// interrupted.
bool use_tuned(RunOptions& run, const OnCommandLine& given, bool batch, CallTimes& times);

}  // namespace klab
