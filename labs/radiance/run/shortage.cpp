#include "labs/radiance/run/shortage.h"

#include <fmt/format.h>

namespace klab {

int64_t Shortage::next_below(int64_t samples) {
  if (samples / 2 < least_)
    throw OutOfMemory(
        fmt::format("an allocation failed, and with {} samples the batch is as small as it may get ({})",
                    samples, least_));
  say_(fmt::format("an allocation failed: going on with a batch of {} samples instead of {}", samples / 2,
                   samples));
  return samples / 2;
}

void Shortage::shrink(FieldTrainer& trainer) {
  if (trainer.batch_samples() == 0)
    throw OutOfMemory("an allocation failed, and the batch of this field cannot be made smaller");
  for (int64_t samples = trainer.batch_samples();;) {
    samples = next_below(samples);
    try {
      return trainer.resize_batch(samples);
    } catch (const std::bad_alloc&) {
      ++failures_;
    }
  }
}

}  // namespace klab
