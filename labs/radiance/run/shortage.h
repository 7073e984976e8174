// Handles failed allocations in a run: it continues with a smaller batch, down to the least one, and then ends
// in order.
#pragma once

#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "labs/radiance/run/budget.h"
#include "labs/radiance/train/field_trainer.h"

namespace klab {

/// Thrown if there is no memory even for the smallest batch; what() tells its size.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Shortage {
 public:
  /// Calls `say` with a line for each reduction. `least`: the smallest batch.
  explicit Shortage(std::function<void(const std::string&)> say, int64_t least = kLeastBatch)
      : say_(std::move(say)), least_(least) {}

  /// Runs `work`, which may be repeated: halves the trainer's batch each time an allocation fails in it.
  /// Throws OutOfMemory if the batch cannot become smaller.
  template <class Work>
  auto through(FieldTrainer& trainer, Work&& work) {
    while (true) {
      try {
        return work();
      } catch (const std::bad_alloc&) {
        ++failures_;
      }
      shrink(trainer);
    }
  }

  /// Makes a trainer by `make(samples)`, and halves the batch while that fails.
  template <class Make>
  auto made(int64_t samples, Make&& make) {
    while (true) {
      try {
        return make(samples);
      } catch (const std::bad_alloc&) {
        ++failures_;
      }
      samples = next_below(samples);
    }
  }

  int64_t failures() const { return failures_; }

 private:
  void shrink(FieldTrainer& trainer);
  int64_t next_below(int64_t samples);

  std::function<void(const std::string&)> say_;
  int64_t least_;
  int64_t failures_ = 0;
};

}  // namespace klab
