// Trainings that take seconds, for experiments on fields: the built-in scene at a sixteenth of its size.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "labs/learning/experiments/experiment.h"
#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/train/trainer.h"

namespace klab::learning {

/// Returns the settings of the hash field.
Config small_hash_config();
const Scene& small_built_in_scene();
/// Returns a plan of training and pictures, the same on every machine, for `cascades` cascades or those of
/// the small scene.
Plan small_plan(const Config& config, int cascades);
Plan small_hash_plan(const Config& config);
/// Returns the PSNR over the test views, dB.
double small_psnr(const Model& model);

/// Uses one thread while this lives: threads that wait for each other use processor time, more of it on a
/// busy machine.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// Returns the processor time of all threads in seconds; it excludes other programs.
double processor_seconds();

/// Trains until `seconds` of processor time are over, or for `most` steps if `seconds` is 0. The limit that
/// applies also sets `progress`.
struct RunLength {
  int64_t most = 0;
  double seconds = 0;
};
/// Returns the used steps and seconds.
RunLength train_for(FieldTrainer& trainer, const RunLength& length);

/// Returns the median of the rounds, with their minimum and maximum.
Measured measured(const std::string& metric, std::vector<double> rounds);

std::string db_text(double psnr);

/// Returns processor seconds of a call of each: the least of `rounds` rounds, in turn.
std::vector<double> least_seconds(const std::vector<std::function<void()>>& calls, int rounds);

}  // namespace klab::learning
