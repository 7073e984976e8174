// Trainings that take seconds, for experiments on fields: the built-in scene at a sixteenth of its size.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "labs/learning/experiments/experiment.h"
#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/train/trainer.h"

namespace klab::learning {

/// Of the hash field.
Config small_hash_config();
const Scene& small_built_in_scene();
/// Of training and of pictures, the same on every machine; with so many cascades, or those of the small scene.
Plan small_plan(const Config& config, int cascades);
Plan small_hash_plan(const Config& config);
/// PSNR over the test views, dB.
double small_psnr(const Model& model);

/// One thread as long as this lives: threads that wait for each other use processor time, the more of it the busier the machine is.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// Seconds of processor time, of all threads: what else the machine does is not in it.
double processor_seconds();

/// Steps until `seconds` of processor time are over, or `most` steps where `seconds` is 0. `progress` goes by what ends them.
struct RunLength {
  int64_t most = 0;
  double seconds = 0;
};
/// What was used of both.
RunLength train_for(FieldTrainer& trainer, const RunLength& length);

/// What is said is a factor of `least` or more: held where it is reached, refuted where not half of the gain is.
Finding reached(double factor, double least);

/// The median of the rounds between the least and the largest of them.
Measured measured(const std::string& metric, std::vector<double> rounds);

/// Held where `other` is better than `base` by more than `noise`, refuted where it is worse by as much.
Finding better(double other, double base, double noise);
std::string db_text(double psnr);

/// Processor seconds of a call of each: the least of so many rounds, in turn.
std::vector<double> least_seconds(const std::vector<std::function<void()>>& calls, int rounds);

}  // namespace klab::learning
