// What of a training is chosen for the machine and not for the scene, found by trying: threads, pictures read ahead, the batch.
//
//   threads    steps from one common point, with so many threads and the plan that is best with them, or a given one; the fastest (race.h)
//   pictures   workers and prefetch, where pictures take turns in memory; the fastest
//   blocks     threads of a block of CUDA rungs that leave it open (blocks.h): by time on a GPU, by counts on the host executor, where
//              nothing else is looked for, since no time there is a GPU's
//   batch      trainings of the whole length on the training views but for some, scored on those; the best after equal time
//              (race.h). Test views are never looked at.
//
// What none of it changes is what is learned from how many samples; the batch does, so it is looked for only when asked for.
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
  std::string plan = "best";   // that the runs will have: "best", "last", "naive" or a file
  bool batch = false;          // look for it
  double seconds = 60;         // of training that the batch is to be best for
  int64_t resident = 0;        // pictures in memory at a time; 0: all
  double round = 0.5;          // seconds of steps in a round of a race
  bool fixed_threads = false;  // they were given: not looked for
};

struct TuneResult {
  Tuned tuned;
  std::vector<Racer> threads, pictures;
  std::vector<BlockChoice> blocks;
  std::vector<Contender> batch;
  bool interrupted = false;  // by a signal: `tuned` is not whole
  double others = 0;         // hardware threads that other programs kept busy meanwhile
  /// Whether the machine was ours enough for times to mean something.
  bool quiet() const { return others < 0.25; }
};

/// Searches, telling `words` what it does, and leaves OpenMP's number of threads as it was. Throws what load_scene(), Plan and trainers
/// throw (a plan that cannot be run before the scene is read), and std::runtime_error where the scene has too few views to leave some out, or the field's batch has one size.
TuneResult tune(const TuneOptions& options, CallTimes& times, std::FILE* words);

/// The result as a table for each search and what it means: what is chosen, and when the time that it took is won back.
std::string tune_text(const TuneResult& result);

}  // namespace klab
