// Runs the blocks of a launch: one after the other, its share of a grid that several host threads run (grid_run.h), all of a
// cooperative grid in turn, or cluster after cluster.
//
// What it knows of the running block is in its base classes, from the bottom to the top: RunningBlock (threads and memory), Fibers
// (stacks for threads), Rendezvous (threads that wait for each other), BlockRunner (one block from its begin to its end).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/block_runner.h"
#include "harness/simt/finding.h"
#include "harness/simt/runtime_api.h"
#include "harness/simt/session.h"

namespace klab::simt {

struct BlockResult;
struct ClusterBlock;

class Executor : public BlockRunner {
 public:
  void run(const Launch& launch, const std::string& kernel, const Options& options, Trace* trace);
  /// Runs blocks of a grid on one of several threads, until none are left.
  void work_on(GridRun& grid);
  /// Runs the blocks of a grid of clusters, one cluster after the other.
  void work_on_clusters(GridRun& grid);
  /// Takes the memory for blocks' shared variables from the kernel's module. Must be called on the thread
  /// that runs them.
  void attach(const Launch& launch);
  uint64_t watched_blocks() const { return watched_; }

 private:
  void prepare(const Launch& what, const std::string& kernel, const Options& options, Trace* with);
  /// Runs all blocks sequentially.
  void run_alone(Session& session, Trace* with);
  void run_one_of(GridRun& grid, BlockResult& result);

  // Cooperative launches. When all threads of a block wait for the grid, the block is set aside with its shared memory and the
  // next one runs. When all blocks wait or have ended, they continue in turn.
  /// A block that waits for the others of its grid: its threads, shared memory and trace.
  struct Parked;
  void run_cooperative(const std::vector<uint64_t>& blocks);
  void park(Parked& to);
  void unpark(Parked& from);

  // Clusters (cluster.h)
  /// Runs the blocks in turns until all have ended.
  void run_cluster();
  void set_aside(ClusterBlock& to);
  void take_up(unsigned rank);
  void running_no_more();

  uint64_t watched_ = 0;  // number of watched blocks of the launch
  std::vector<char> dynamic_;
};

/// Progress callback: blocks of a launch that have run, and how many it has. nullptr: none.
using BlockDone = void (*)(uint64_t done, uint64_t blocks, const std::string& kernel);
extern BlockDone block_done;
/// Returns CUDA's name for the error that ended the launch.
const char* cuda_name_of(const Finding& fatal);

/// Returns the executor of this host thread.
Executor& executor();
extern constinit thread_local Executor* running;  // nullptr while this thread runs no kernel

}  // namespace klab::simt
