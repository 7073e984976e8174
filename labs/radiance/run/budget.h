// Memory account: computes the memory of a training run by owner before it is allocated, and makes things
// smaller to fit a budget.
//
//   program     code, libraries, stacks: the memory of this process so far
//   pictures    all of them, or those that take turns (picture_pool.h) and the buffers of their readers
//   table       parameters: the hash table and the networks' matrices
//   optimizer   their gradients, moments, counts of steps, averages
//   grid        the occupancy grid
//   batch       rays and samples of a step, and everything computed for them
//   trainer     replaces these four if the field is not the hash field
//   scratch     temporary memory: timing rungs before the first step, ceilings during the steps, the saved model and
//               the pictures of its evaluation after the last one
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/bytes.h"
#include "harness/timing/flush.h"
#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/train/picture_pool.h"
#include "labs/radiance/train/trainer.h"

namespace klab {

/// The smallest batch to shrink to, samples, unless another one is asked for.
inline constexpr int64_t kLeastBatch = 1024;

/// What a run may choose, and has chosen.
struct MemoryChoice {
  Config config;                  // log2_table and batch_samples may become smaller
  int64_t resident = 0;           // pictures in memory at a time; 0: all
  int64_t cold = kMostColdBytes;  // for more copies of operands, while rungs are timed cold
  bool ceilings = true;  // how far stages are from what the machine can do is measured during the training
  int64_t pixels = Renderer::kRays;  // at a time, of pictures that evaluate the model
};

struct MemoryAccount {
  struct Share {
    std::string owner;
    int64_t bytes;
    std::string what;
  };
  std::vector<Share> shares;
  int64_t total() const;
  int64_t of(const std::string& owner) const;
};

/// Facts known before the pictures are read.
struct MemoryFacts {
  const Scene* scene = nullptr;
  StepSizes sizes;
  std::vector<PlannedCall> timed;    // calls whose rungs may be timed before the first step
  int64_t program = 0;               // bytes of the process so far
  int workers = 1;                   // threads that decode pictures
  int64_t ahead = 2;                 // pictures read before their turn
  bool pictures_here = true;         // in the host's memory; false: the backend also has a copy
  int64_t load_room = 0;             // page-locked bytes for copying pictures to a backend
  bool evaluated = true;             // on the test views, at the end
  int64_t resumed = 0;               // bytes of the checkpoint to resume from; its table cannot shrink
  int64_t parts = 1, own_parts = 1;  // of a batch, as in BatchShare
  int64_t least_batch = kLeastBatch;
  /// For a field that is counted as a whole and cannot be made smaller: the most bytes of its trainer and of
  /// its model, a description of the trainer, and how to make it smaller. 0: the hash field, whose tensors
  /// are counted one by one.
  int64_t trainer = 0, model = 0;
  std::string trainer_text, remedy;
};

MemoryAccount memory_account(const MemoryFacts& facts, const MemoryChoice& choice);

/// The limit of a run: the free memory plus the `program` bytes it has, less what is to stay free, and no more than the given one.
struct MemoryBudget {
  int64_t bytes = 0;
  std::string whose;  // origin of the limit: "--memory"
};
MemoryBudget memory_budget(std::optional<int64_t> given, int64_t program, int64_t reserve = 0);

/// Pixels at a time of the pictures that time the evaluation before the first step, at most.
inline constexpr int64_t kProbePixels = 512;

struct MemoryPlan {
  MemoryChoice choice;
  MemoryAccount account;
  std::vector<std::string> smaller;  // descriptions of what was made smaller
};

/// Bytes that copies for cold timing may take of a budget: an eighth of it, at most kMostColdBytes.
int64_t cold_share(const MemoryBudget& budget);

/// The largest choice that stays within `budget` bytes, from what is wanted downwards: copies for cold timing go first (lines
/// are flushed instead, see bench_inputs.h), then ceilings are left out, then pictures take turns, then the batch is halved down
/// to a quarter, then the table; then all of them as far as it goes. Throws std::runtime_error, one line, with the least that it
/// takes and what would lower that, where nothing fits.
MemoryPlan fit_memory(const MemoryFacts& facts, const MemoryChoice& wanted, const MemoryBudget& budget);

/// Formats the account as a table, a row for each owner and one for the sum.
std::string account_text(const MemoryAccount& account, const MemoryBudget& budget);

/// Compares the owners' peaks so far, as the program counts them, with the plan: as text, and as "memory" of
/// result.json.
std::string peaks_text(const MemoryAccount& account);
nlohmann::json memory_json(const MemoryPlan& plan, const MemoryBudget& budget);

}  // namespace klab
