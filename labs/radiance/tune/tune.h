// Chooses by trial the settings of a training that depend on the machine and not on the scene: threads,
// pictures read ahead, the batch.
//
//   threads    steps from one common point, at several numbers of threads, each with its best plan or a given one; the
//              fastest wins (race.h)
//   pictures   workers and prefetch, if pictures take turns in memory; the fastest wins
//   blocks     threads of a block of CUDA rungs that leave it open (blocks.h): by time on a GPU, by counts on the host
//              executor. There nothing else is tuned, since its times are not a GPU's.
//   batch      trainings of the whole length on the training views except some, scored on those; the best after equal
//              time wins (race.h). Test views are never used.
//
// Only the batch changes the results of a training, so it is tuned on request only.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "labs/radiance/run/fields.h"
#include "labs/radiance/tune/blocks.h"
#include "labs/radiance/tune/race.h"
#include "labs/radiance/tune/remembered.h"

namespace klab {

struct TuneOptions {
  std::string scene = "built-in";
  int downscale = 1, holdout = 8;
  uint64_t seed = 1;
  FieldSettings settings;
  std::string backend = "cpu";
  std::string plan = "best";   // of the runs: "best", "last", "naive" or a file
  bool batch = false;          // tune the batch
  double seconds = 60;         // training time for which the batch is to be best
  int64_t resident = 0;        // pictures in memory at a time; 0: all
  double round = 0.5;          // seconds of steps in a round of a race
  bool fixed_threads = false;  // do not tune the threads: they were given
};

struct TuneResult {
  Tuned tuned;
  std::vector<Racer> threads, pictures;
  std::vector<BlockChoice> blocks;
  std::vector<Contender> batch;
  bool interrupted = false;  // by a signal: `tuned` is incomplete
  double others = 0;         // hardware threads that other programs kept busy during the search
  /// Returns whether the machine was idle enough for times to mean something.
  bool quiet() const { return others < 0.25; }
};

/// Searches, reporting progress to `words`, and restores OpenMP's number of threads. Throws what
/// load_scene(), Plan and trainers throw (a plan that cannot run before the scene is read), and std::runtime_error if the scene has too few views to hold some
/// out, or the field's batch cannot be changed.
TuneResult tune(const TuneOptions& options, CallTimes& times, std::FILE* words);

/// Formats the result: a table for each search, the choice, and the training time after which the search has
/// paid off.
std::string tune_text(const TuneResult& result);

}  // namespace klab
