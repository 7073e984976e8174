// A cluster of blocks that runs: its blocks take turns on one host thread, each until it cannot go on. A block that waits is set
// aside with its threads; its shared memory is then kept at other addresses, at which the other blocks find it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/simt/async_block.h"
#include "harness/simt/async_order.h"
#include "harness/simt/executor.h"
#include "harness/simt/grid_run.h"

namespace klab::simt {

class Trace;

/// A piece of shared memory, at the address that all blocks have for their own. Kept copies lie alike within 1024 bytes.
struct SharedRange {
  char* live;
  size_t bytes;
};

/// A block of the cluster. Most fields hold its state while it is set aside.
struct ClusterBlock {
  uint64_t turn = 0;
  bool begun = false, ended = false;
  std::vector<Lane> lanes;
  std::vector<uint8_t> order;
  std::vector<char*> kept;  // by range: shared memory
  std::unique_ptr<AsyncBlock> async;
  Trace* trace = nullptr;
  BlockResult result;
  uint64_t steps = 0, progress = 0, resumed = 0, turn_ends = 0;
  std::array<uint8_t, 32> in_meetings{};
  int vote = 0;
  bool divergence_told = false;
};

class Cluster {
 public:
  Cluster(Executor& executor, const unsigned (&size)[3], bool traced);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  unsigned blocks() const { return unsigned(blocks_.size()); }
  unsigned size(int dimension) const { return size_[dimension]; }
  ClusterBlock& operator[](unsigned rank) { return blocks_[rank]; }
  const ClusterBlock& operator[](unsigned rank) const { return blocks_[rank]; }
  unsigned rank() const { return rank_; }

  /// A place in the shared memory of another block: `own` is the address that the block itself has for it.
  struct Place {
    int rank = -1;  // -1: no such place
    char* own = nullptr;
    size_t left = 0;  // bytes to the end of the piece; 0: the place is just behind it
  };
  Place peer_at(const void* p) const;
  /// Returns the address at which the running block finds what the block of that rank has at `own`; nullptr if that is no
  /// shared memory of a block.
  char* at_rank(const void* own, unsigned rank) const;
  /// Returns the address that the same place has in all blocks' view of it: the kept one.
  char* kept_at(const void* own, unsigned rank) const;

  // barrier.cluster
  void arrive(bool release, const char* file, int line);
  void wait(const char* file, int line);
  /// Returns the phase in which the running thread arrives next, and the number of phases that it has waited for.
  uint32_t coming_phase() const;
  uint32_t waited() const;
  void thread_ended(const Lane& lane);
  const void* barrier() const { return &barrier_; }
  std::string state_of_barrier() const;

  /// Lets threads of blocks that are set aside go on; returns whether there are any.
  bool wake(const void* what);

  /// Returns whether the block's shared memory is there. If the block has ended, that is reported, and ends the launch unless
  /// programs go on behind errors. `what` names the use.
  bool is_running(unsigned rank, const std::string& what, const char* file, int line) const;

  ReaderSets readers;
  bool moved = false;         // a thread has run in this round over the blocks
  bool may_time_out = false;  // none has: waits with a time limit end

 private:
  friend class Executor;
  struct Barrier {
    uint32_t phase = 0, arrived = 0, gone = 0,
             gone_behind = 0;      // threads: have ended before, or after they arrived
    AsyncClocks open, over;        // as the block of rank 0 has them
    std::vector<uint32_t> next;    // by thread of the cluster: the phase at which it may arrive
    std::vector<uint32_t> waited;  // by thread: phases that it has waited for
  };
  void end_phase_if_over();
  uint32_t threads() const;
  void find_ranges();
  /// Returns the block whose waits are reported if none can go on: one that waits for more than the cluster.
  unsigned rank_of_cause() const;

  Executor& executor_;
  unsigned size_[3];
  unsigned rank_ = 0;
  std::vector<ClusterBlock> blocks_;
  std::vector<SharedRange> ranges_;
  Barrier barrier_;
};

}  // namespace klab::simt
