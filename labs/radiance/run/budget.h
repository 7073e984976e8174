// Memory as an account: what a training run takes, by owner, before anything of it is taken; and what is made smaller so that it
// fits into a budget.
//
//   program     code, libraries, stacks: what this process has already
//   pictures    all of them, or those that take turns (picture_pool.h) and what their readers decode
//   table       parameters: the hash table and the networks' matrices
//   optimizer   their gradients, moments, counts of steps, averages
//   grid        the occupancy grid
//   batch       rays and samples of a step, and all that is computed for them
//   trainer     in place of these four, where the field is not the hash field
//   scratch     what comes on top for a while: timing rungs before the first step, ceilings beside it, the model that is
//               saved and the pictures that it is evaluated by behind the last one
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

/// What a run may choose, and has chosen.
struct MemoryChoice {
  Config config;                  // log2_table and batch_samples may become smaller
  int64_t resident = 0;           // pictures in memory at a time; 0: all
  int64_t cold = kMostColdBytes;  // for more copies of operands, while rungs are timed cold
  bool ceilings = true;  // how far stages are from what the machine can do is measured beside the training
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

/// What is known before the pictures are read.
struct MemoryFacts {
  const Scene* scene = nullptr;
  StepSizes sizes;
  std::vector<PlannedCall> timed;    // whose rungs may be timed before the first step
  int64_t program = 0;               // bytes that the process has already
  int workers = 1;                   // that decode pictures
  int64_t ahead = 2;                 // pictures that are read before their turn
  bool pictures_here = true;         // in the host's memory; false: the backend has a copy of its own beside
  int64_t load_room = 0;             // page-locked bytes that pictures go through on their way to a backend
  bool evaluated = true;             // on the test views, at the end
  int64_t resumed = 0;               // bytes of the checkpoint that is gone on from; its table cannot shrink
  int64_t parts = 1, own_parts = 1;  // of a batch, as BatchShare has them
  /// Of a field that is counted as a whole and cannot be made smaller: bytes of its trainer and of its model at most, what the
  /// trainer is, and what would make it smaller. 0: the hash field, whose tensors are counted one by one.
  int64_t trainer = 0, model = 0;
  std::string trainer_text, remedy;
};

MemoryAccount memory_account(const MemoryFacts& facts, const MemoryChoice& choice);

/// What a run may take: what is given, or what is free beside the `program` bytes it has.
struct MemoryBudget {
  int64_t bytes = 0;
  std::string whose;  // "--memory"
};
MemoryBudget memory_budget(std::optional<int64_t> given, int64_t program);

/// The smallest batch that is gone down to, samples.
inline constexpr int64_t kLeastBatch = 1024;

struct MemoryPlan {
  MemoryChoice choice;
  MemoryAccount account;
  std::vector<std::string> smaller;  // what was made smaller, in words
};

/// Bytes that copies for cold timing may take of a budget: an eighth of it, at most kMostColdBytes.
int64_t cold_share(const MemoryBudget& budget);

/// The largest choice that stays within `budget` bytes, from what is wanted downwards: copies for cold timing go first (lines
/// are flushed instead, see bench_inputs.h), then ceilings are left out, then pictures take turns, then the batch is halved down
/// to a quarter, then the table; then all of them as far as it goes. Throws std::runtime_error, one line, with the least that it
/// takes and what would lower that, where nothing fits.
MemoryPlan fit_memory(const MemoryFacts& facts, const MemoryChoice& wanted, const MemoryBudget& budget);

/// The account as a table, a row for each owner and one for the sum.
std::string account_text(const MemoryAccount& account, const MemoryBudget& budget);

/// What owners had at most so far, as the program counts, beside what was planned: words, and the "memory" of result.json.
std::string peaks_text(const MemoryAccount& account);
nlohmann::json memory_json(const MemoryPlan& plan, const MemoryBudget& budget);

}  // namespace klab
