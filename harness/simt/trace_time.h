// When accesses happen, in intervals of time (shadow.h): those of the running block, and which block, launch or stream another one
// belongs to.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/simt/executor.h"
#include "harness/simt/grid_run.h"

namespace klab::simt {

class Cluster;

/// Earlier work of a program in another stream, with nothing that orders a launch behind it.
struct EarlierWork {
  uint32_t first, end;  // its intervals
  std::string what;     // "kernel fill, launched at line 9,"
  bool until_wait =
      false;  // a thread that has waited for the launch before (griddepcontrol.wait) is behind it
};
/// The place of a launch among the work of streams. nullptr: all earlier work is over.
struct InStreams {
  std::vector<EarlierWork> unordered;  // in the order of their intervals
  std::string at;                      // " at line 9"
};
extern const InStreams* in_streams;
/// A copy or fill that another stream has made while the launch runs, which waits for it or for something else.
void done_meanwhile(EarlierWork work);
void nothing_meanwhile();
/// Returns the last interval of such work; 0 if there is none.
uint32_t last_meanwhile();
/// A thread of the running launch has executed griddepcontrol.wait.
extern std::atomic<bool> launch_before_was_waited_for;
/// One has executed griddepcontrol.launch_dependents. If none does, the next launch begins when the blocks of this one have ended.
extern std::atomic<bool> next_launch_was_triggered;

class TraceTime {
 public:
  /// Reserves `count` intervals of time; returns the first. Their numbers are unique in the process, since
  /// host threads that launch concurrently may use the same memory.
  static uint32_t new_intervals(uint32_t count);
  /// The running thread has waited for the launch before this one.
  void waited_for_launch_before();

 protected:
  /// `grid`: whose blocks this host thread runs a part of; nullptr if it runs them all.
  void launch_begins(Executor& executor, GridRun* grid);
  /// Begins the first interval of the running block.
  void block_begins();
  /// The results of the block have been delivered: reserves as many intervals for the next one.
  void block_delivered();

  uint32_t next_interval();
  /// Returns whether an interval belongs to the running block.
  bool is_of_my_block(uint32_t interval) const;
  /// Returns whether an interval belongs to another block of the launch.
  bool is_of_another(uint32_t interval) const {
    return interval >= launch_first_ && !is_of_my_block(interval);
  }
  bool comes_behind_me(uint32_t interval) const;
  uint64_t turn_of(uint32_t interval) const;
  uint64_t block_of(uint32_t interval) const;
  /// Returns the rank of the block of my cluster that an interval belongs to; -1 if there is none.
  int rank_of(uint32_t interval) const;
  /// Returns the work of another stream that an interval of an earlier launch belongs to, if nothing orders this launch
  /// behind it.
  const EarlierWork* unordered_at(uint32_t interval) const;
  /// Returns the work done while the launch runs that an interval belongs to.
  static const EarlierWork* meanwhile_at(uint32_t interval);
  void launch_is_behind(uint32_t interval);
  bool has_waited_for_launch() const;

  Executor* executor_ = nullptr;
  GridRun* grid_ = nullptr;  // grid whose blocks this thread runs a part of
  Cluster* cluster_ = nullptr;
  unsigned rank_ = 0;
  uint32_t interval_ = 0, launch_first_ = 0, block_first_ = 0;
  // Before this interval everything is over. Behind it may be work of other streams that is not ordered.
  uint32_t all_over_before_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> chunks_;  // earlier intervals of the block: first, and end
  std::vector<uint32_t> block_firsts_;  // first interval of each block of the launch, in the order they ran
  std::vector<uint64_t> block_numbers_;
  // A thread of the block has waited for the launch before; a barrier lies behind that.
  bool waited_for_launch_ = false, block_waited_for_launch_ = false;

 private:
  uint32_t chunk_end_ = 0;  // end of the intervals assigned to the block
  uint32_t chunk_ = 2;      // number of intervals assigned next
};

}  // namespace klab::simt
