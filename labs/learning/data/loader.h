// Batches of a data set: shuffled, augmented, and prepared while the previous one is used.
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
  /// Largest augmentation of images: rotation in degrees, relative scale, and shift in pixels.
  double degrees = 0, scale = 0, shift = 0;
  bool prefetch = true;  // prepare the next batch on another thread
};

struct Batch {
  Array<float> values;    // [batch,dims], normalized
  Array<int32_t> labels;  // [batch]
};

/// The examples of an epoch depend only on seed and step, so a resumed run uses the same as an uninterrupted
/// one.
class Loader {
 public:
  /// Throws std::invalid_argument for a batch that is larger than the set. `mean` and `deviation` normalize
  /// every number.
  Loader(const Examples& examples, const LoaderSettings& settings, double mean, double deviation);
  ~Loader();

  int64_t steps_per_epoch() const { return examples_.count() / settings_.batch; }
  /// Returns the batch of that step, counted over all epochs; valid until the next call. Remaining examples
  /// that do not fill a batch are left out.
  const Batch& at(int64_t step);

 private:
  void make(int64_t step, Batch& batch);

  const Examples& examples_;
  LoaderSettings settings_;
  float mean_, deviation_;
  std::vector<int64_t> order_;  // order of the examples in epoch `ordered_`
  int64_t ordered_ = -1;
  Batch batches_[2];
  int current_ = 0;
  int64_t ahead_ = -1;  // step whose batch is being prepared in the other buffer
  std::future<void> making_;
};

/// Mean and standard deviation of all numbers, for images; 0 and 1 for points.
struct Scale {
  double mean = 0, deviation = 1;
};
Scale scale_of(const Examples& examples);

}  // namespace klab::learning
