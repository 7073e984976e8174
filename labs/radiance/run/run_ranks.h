// The processes of a run: what they must agree on, and how their trainers share a batch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "labs/radiance/ranks/device_ranks.h"
#include "labs/radiance/ranks/exchange.h"
#include "labs/radiance/run/run_context.h"
#include "labs/radiance/train/batch_share.h"

namespace klab {

class RunRanks {
 public:
  /// The context must outlive it.
  explicit RunRanks(RunContext& run) : run_(run) {}
  RunRanks(const RunRanks&) = delete;
  RunRanks& operator=(const RunRanks&) = delete;

  /// Throws std::runtime_error, naming the option, where the field or the config does not support it with several processes or
  /// a batch in parts.
  void require_options() const;
  /// Checks that ranks agree on everything that matters before the first step.
  void require_alike(int64_t first_step) const;
  /// Checks that all ranks have the same parameters.
  void require_same_parameters(const FieldTrainer& trainer) const;
  /// Names the checkpoint in the message for a killed rank.
  void name_checkpoint(const std::filesystem::path& folder) const;
  /// Uses the first rank's choice of memory on all ranks.
  void take_first_ranks_memory() const;

  /// Returns this rank's share of the batch, connected to those of the other ranks. It must not outlive this object.
  BatchShare share();

  /// Returns the counts over all tables.
  Exchange::Touched touched() const;

 private:
  void connect(BatchShare& share);
  void connect_gpus(BatchShare& share);

  RunContext& run_;
  std::vector<Exchange> tables_;  // exchange the gradients of tables between ranks
  std::unique_ptr<DeviceRanks> device_ranks_;
  std::optional<Exchange> whole_;  // exchanges those of parameters that move as a whole
};

}  // namespace klab
