// One host thread's view of a running kernel: every access passes through it, to be checked, ordered and counted.
//
// A trace is made of layers, each of which uses those below it. From the bottom to the top: TraceTime (when an access happens),
// TraceOrder (what is ordered before it), TraceFind (what is wrong with it), TraceCheck (a word of memory), TracePeers (shared memory
// of other blocks), TraceAgents (copies and products that no thread makes). They are base classes and no members, and nothing in them
// is virtual: an access costs what it would cost in one class. TraceCount (how much an access costs) and SharedMemory know no other
// layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/trace_agents.h"

namespace klab::simt {

class Trace : public TraceAgents {
 public:
  void launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch);
  void launch_ended();

  // For a thread that runs some of the blocks of a grid.
  void joins(Executor& executor, GridRun& grid);
  void leaves();
  /// Number of edges of the kernel's flow that the trace knows, and learn(), which sets those that the next
  /// block begins with: `edges` in total, the last of them `news`.
  size_t edges_known() const { return count_.edges_known(); }
  void learn(const std::vector<Flow::Edge>& news, size_t edges) { count_.learn(news, edges); }
  void block_abandoned() { settle(); }
  /// Moves the block's results into `result`, and resets them.
  void deliver(BlockResult& result);

  void access(const void* p, size_t bytes, uint8_t how, const void* pc);
  /// Handles the common accesses of a running thread: plain reads and writes of 4, 8 or 16 bytes.
  template <unsigned bytes, bool write>
  void plain_access(Executor& executor, Lane& lane, const void* p, const void* pc);
  void step(const void* pc);
  /// Record that the running thread enters a block of code, or begins or ends a function that is not inlined.
  void block_entered(const void* pc);
  void function_entered() { count_.function_entered(*executor_->lane); }
  void function_left();
  /// Handles the order that an atomic creates, or a load or store of a flag (kVolatile). `acquires`: a fence is part of it.
  void atomic_at(const void* p, uint8_t how = kWrite | kAtomic, bool acquires = false);
  void copy_issued(const AsyncCopy& copy);
  void copy_landed(const AsyncCopy& copy);
  /// Counts a copy: its bytes and sectors of global memory. `width`: bytes of a row.
  void copy_engine_counts(bool write, size_t width, int64_t bytes, int64_t sectors, const void* pc) {
    count_.copy_engine_counts(write, width, bytes, sectors, pc);
  }

  /// Adds an event of the running thread to the recording of its block, if there is one (recording.h). `barrier` and `name`: of the
  /// barrier that it is about.
  void note(Note what, int line, uint32_t value = 0, uint32_t amount = 0, const void* barrier = nullptr,
            const std::string& name = {}) {
    count_.note(what, line, value, amount, barrier, name);
  }
  bool is_recorded() const { return count_.recording() != nullptr; }

  /// State of a block that waits for the others of its grid and is set aside until they arrive.
  using ParkedBlock = TraceCount::Parked;
  ParkedBlock park();
  void unpark(ParkedBlock block);

  void block_begins();
  void block_ended();
  void barrier_passed(const char* file, int line);
  void warp_synchronized(unsigned warp, unsigned present);
  /// Counts the logs of a warp whose lanes all wait or have ended.
  void segment_ended(unsigned warp);
  void segment_full(unsigned warp);

 private:
  /// Returns the cells of a plain, aligned access to memory that certainly belongs to the kernel; nullptr if
  /// check_fully() has to decide.
  Cell* cells_of(const char* c, size_t bytes, Space* space);
  void watch_words(Cell* cells, const char* c, size_t bytes, uint8_t how, uint16_t site, Space space,
                   Lane& lane);
  void check_fully(const void* p, size_t bytes, uint8_t how, const void* pc);
  /// Caches the allocation or variable that this site last accessed.
  void remember(TraceCount::KnownSite& known, const char* c, Space space);

  uint64_t frees_seen_ = 0;  // device_frees when last checked
};

/// Returns the trace of this host thread.
Trace& trace_of_thread();
/// Returns the trace of this host thread for the block of that rank in a cluster.
Trace& trace_of_rank(unsigned rank);

}  // namespace klab::simt
