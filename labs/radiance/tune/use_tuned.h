// Applies the results of klab tune in klab train.
#pragma once

#include <cstdio>

#include "labs/radiance/run/run.h"
#include "labs/radiance/tune/tune.h"

namespace klab {

/// Options given on the command line, which take precedence.
struct OnCommandLine {
  bool threads = false, workers = false, ahead = false;
};

/// Applies the remembered settings of this machine to `run` and OpenMP unless others were given, and reports
/// them in a line: threads, workers, prefetch and block sizes of CUDA rungs. None of these changes the
/// results of a training. With `batch` applies the batch, too; if none is remembered for a run of about that
/// length (half to double), tunes now and remembers the result. An unreadable file is reported and ignored.
/// Throws std::runtime_error if `batch` is set for a run without a length in seconds, and whatever tune()
/// throws. Returns false if interrupted.
bool use_tuned(RunOptions& run, const OnCommandLine& given, bool batch, CallTimes& times);

}  // namespace klab
