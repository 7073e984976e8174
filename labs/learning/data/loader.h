// Batches of a data set: shuffled, augmented, and prepared while previous ones are used.
#pragma once

#include <future>
#include <memory>
#include <mutex>
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
  bool prefetch = true;  // prepare batches on other threads
  int64_t ahead = 1;     // this many, while a step uses one
  int64_t workers = 1;   // of them at a time, at most
  /// Only this one of `ranks` equal parts of every batch is made.
  int64_t rank = 0, ranks = 1;
  int64_t own() const { return batch / ranks; }
};

struct Batch {
  Array<float> values;    // [own,dims], normalized
  Array<int32_t> labels;  // [own]
};

/// The examples of an epoch depend only on seed and step, so a resumed run uses the same as an uninterrupted
/// one.
class Loader {
 public:
  /// Throws std::invalid_argument for a batch that is larger than the set, and for more workers than batches ahead. `mean` and
  /// `deviation` normalize every number.
  Loader(const Examples& examples, const LoaderSettings& settings, double mean, double deviation);
  ~Loader();

  int64_t steps_per_epoch() const { return examples_.count() / settings_.batch; }
  /// Returns the batch of that step, counted over all epochs; valid until the next call. Remaining examples
  /// that do not fill a batch are left out.
  const Batch& at(int64_t step);

 private:
  using Order = std::shared_ptr<const std::vector<int64_t>>;
  /// A place for a batch. It belongs to `step` from the moment on that a thread begins to make it.
  struct Slot {
    Batch batch;
    int64_t step = -1;
    std::shared_future<void> made;  // invalid: made by the caller's thread
  };
  Slot& slot_of(int64_t step) { return slots_[size_t(step) % slots_.size()]; }
  /// Returns the order of the examples in that epoch. Threads that need the same epoch share it.
  Order order_of(int64_t epoch);
  void make(int64_t step, Batch& batch);
  void prepare(int64_t step);

  const Examples& examples_;
  LoaderSettings settings_;
  float mean_, deviation_;
  std::vector<Slot> slots_;  // one for the batch in use and one for each ahead
  std::mutex order_mutex_;
  Order order_;  // of epoch `ordered_`
  int64_t ordered_ = -1;
};

/// Mean and standard deviation of all numbers, for images; 0 and 1 for points.
struct Scale {
  double mean = 0, deviation = 1;
};
Scale scale_of(const Examples& examples);

}  // namespace klab::learning
