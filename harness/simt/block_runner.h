// Runs one block: warp after warp until nothing can move. It then releases the barrier, or reports which threads wait where.
// A block that takes too many steps, or waits for what cannot happen, ends its launch.
#pragma once

#include <cstdint>
#include <memory>

#include "harness/simt/rendezvous.h"

namespace klab::simt {

class AsyncBlock;

class BlockRunner : public Rendezvous {
 public:
  /// The asynchronous state of the running block (async_block.h), created on first use.
  AsyncBlock& async();
  /// Counts one step of the block. Called at every branch and at every traced access.
  void step(const void* pc) {
    if (++steps_ >= turn_) turn_ends(pc);
  }

 protected:
  BlockRunner();
  ~BlockRunner();

  void begin_block();
  /// Runs until all threads have ended (true) or wait for the grid (false). In a cluster also until only other blocks can
  /// let a thread go on, or until its threads have run for long (false).
  bool run_block();
  /// Reports a deadlock: which threads wait for which.
  [[noreturn]] void stuck();

  uint64_t turn_ = 0, step_limit_ = 0;  // turn_: steps_ at which the turn of the running thread ends
  unsigned turns_waited_ = 0;           // turns in a row in which all_wait()
  std::unique_ptr<AsyncBlock> async_;

 private:
  void shuffle_lanes(unsigned warp);
  bool run_warp(unsigned warp);
  /// Ends the turn of a thread that has run for long. Other threads run next, or the step limit ends the
  /// launch.
  void turn_ends(const void* pc);
  /// Returns whether every thread of the block has ended, waits for others, or spins on a word.
  bool all_wait() const;
  /// Ends the launch: earlier blocks have ended, and a later one cannot run before this one ends.
  [[noreturn]] void spins_for_ever();
  /// Returns whether host code may write the word that a thread waits for.
  bool waits_for_host(const Lane& lane) const;
  /// Lets host code run on for a while if a thread waits for it. Returns false if none does, or if nothing can write the word.
  bool host_went_on();

  static constexpr uint64_t kTurn = 1 << 16;
};

/// In programs: ends the program because klab cannot run it, for the reason in the finding. nullptr: the launch ends instead.
using CannotRun = void (*)(const Finding& why);
extern CannotRun cannot_run;

}  // namespace klab::simt
