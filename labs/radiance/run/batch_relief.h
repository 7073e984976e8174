// What a run does when memory becomes short while it trains: it drops caches, and takes smaller batches for as long as needed.
#pragma once

#include <cstdint>

#include "labs/radiance/run/pressure.h"
#include "labs/radiance/run/run_context.h"
#include "labs/radiance/run/shortage.h"

namespace klab {

class BatchRelief {
 public:
  /// The context must outlive it.
  explicit BatchRelief(RunContext& run);

  /// Handles allocations that fail.
  Shortage& shortage() { return shortage_; }
  const Shortage& shortage() const { return shortage_; }
  /// Takes less memory if it is short, and more when it is plentiful again: up to the planned batch, or the largest one asked for.
  void relieve(FieldTrainer& trainer);
  int64_t batches_shrunk() const { return shrunk_; }
  int64_t batches_grown() const { return grown_; }

 private:
  void resize(FieldTrainer& trainer, int64_t samples);

  RunContext& run_;
  Shortage shortage_;
  Pressure pressure_;
  int64_t shrunk_ = 0, grown_ = 0;  // batches, for lack of memory, and back
  int64_t too_large_;               // a batch for which there was no memory
};

}  // namespace klab
