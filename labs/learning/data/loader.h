// Batches of a data set: shuffled, augmented, made ready while the last one is learned from.
#pragma once

#include <future>
#include <vector>

#include "harness/program/memory.h"
#include "labs/learning/data/dataset.h"

namespace klab::learning {

struct LoaderSettings {
  int64_t batch = 64;
  uint64_t seed = 1;
  bool shuffle = true;
  /// Images are turned by up to so many degrees, scaled by up to so much, and shifted by up to so many pixels.
  double degrees = 0, scale = 0, shift = 0;
  bool prefetch = true;  // on another thread
};

struct Batch {
  Array<float> values;    // [batch,dims], normalized
  Array<int32_t> labels;  // [batch]
};

/// What an epoch sees is decided by seed and step alone, so a resumed run sees what an uninterrupted one would have.
class Loader {
 public:
  /// Throws std::invalid_argument for a batch that is larger than the set. `mean` and `deviation` normalize every number.
  Loader(const Examples& examples, const LoaderSettings& settings, double mean, double deviation);
  ~Loader();

  int64_t steps_per_epoch() const { return examples_.count() / settings_.batch; }
  /// The batch of that step, counted over all epochs; good until the next call. A last part that fills no batch is left out.
  const Batch& at(int64_t step);

 private:
  void make(int64_t step, Batch& batch);

  const Examples& examples_;
  LoaderSettings settings_;
  float mean_, deviation_;
  std::vector<int64_t> order_;  // of the epoch `ordered_`
  int64_t ordered_ = -1;
  Batch batches_[2];
  int current_ = 0;
  int64_t ahead_ = -1;  // step that is being made into the other batch
  std::future<void> making_;
};

/// Mean and standard deviation of all numbers, for a set of images; 0 and 1 for points.
struct Scale {
  double mean = 0, deviation = 1;
};
Scale scale_of(const Examples& examples);

}  // namespace klab::learning
