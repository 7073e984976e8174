// The block that an executor runs: its place in the grid, its threads, its memory, its findings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/finding.h"
#include "harness/simt/lane.h"
#include "harness/simt/session.h"

namespace klab::simt {

class Cluster;
class Trace;
class GridRun;

// threadIdx, blockIdx, blockDim and gridDim of the running thread, for programs (language.h).
extern "C" {
extern constinit thread_local unsigned klab_thread_idx[3], klab_block_idx[3], klab_block_dim[3],
    klab_grid_dim[3];
}

class RunningBlock {
 public:
  RunningBlock(const RunningBlock&) = delete;
  RunningBlock& operator=(const RunningBlock&) = delete;

  /// Returns whether the bytes are shared memory of the running block.
  bool is_shared(const void* p, size_t bytes) const;
  /// Says that the block is getting on, so that the step limit begins again.
  void progressed() { progress_ = steps_; }
  uint64_t seed() const { return options_.seed; }
  /// Returns the finding with kernel, block and thread filled in, of the running lane or of the one given.
  Finding placed(Finding finding, const Lane* lane = nullptr) const;
  /// Adds the finding to the list.
  void report(Finding finding, const Lane* lane = nullptr);
  void add(const Finding& placed);

  Lane* lane = nullptr;  // running lane; nullptr outside kernels
  unsigned block[3] = {0, 0, 0};
  unsigned block_dim[3] = {1, 1, 1};
  unsigned grid_dim[3] = {1, 1, 1};
  const Launch* launch = nullptr;
  Trace* trace = nullptr;
  char* dynamic_shared = nullptr;
  char* arena = nullptr;          // required address of dynamic shared memory; nullptr: any
  char* static_shared = nullptr;  // this thread's copy for the kernel's module
  size_t static_shared_bytes = 0;
  // What lies at the PTX address 0 (async_api.cpp): an offset in static shared memory; bytes 0: nothing, or not looked up yet.
  struct AtZero {
    bool known = false;
    size_t offset = 0, bytes = 0;
  } at_zero;
  uint64_t block_number = 0;
  Cluster* cluster = nullptr;  // that runs; nullptr: the blocks are alone
  GridRun* grid = nullptr;     // grid whose blocks this thread shares with others; nullptr when it runs alone
  uint64_t turn = 0;           // of the block: number of blocks before it
  // The structure that the running access reads or writes in pieces; bytes 0: it is one piece.
  struct Aggregate {
    const char* begin = nullptr;
    size_t bytes = 0;
  } aggregate, access;   // access: the running one itself
  bool its_turn = true;  // all earlier blocks have ended

  /// Returns the mask of a warp's lanes that have ended. Lanes beyond the block's size count as ended.
  unsigned ended(unsigned warp) const;
  /// Returns the mask of lanes that have not started, or run without waiting for others.
  unsigned going_on(unsigned warp) const;
  Lane& lane_of(unsigned warp, unsigned index) { return lanes_[warp * 32 + index]; }
  unsigned warps() const { return (threads_ + 31) / 32; }
  unsigned threads() const { return threads_; }
  /// Makes `l` the running lane and sets threadIdx.
  void go_on_with(Lane* l) {
    lane = l;
    klab_thread_idx[0] = l->x;
    klab_thread_idx[1] = l->y;
    klab_thread_idx[2] = l->z;
  }

 protected:
  RunningBlock() : lanes_(1024) {}
  ~RunningBlock() = default;

  /// Makes `number` the running block and sets blockIdx.
  void take_block(uint64_t number);
  /// Sets the position of every thread in its block.
  void number_lanes();
  /// Returns whether it is memory of the running thread or of its block.
  bool is_the_blocks(const void* p) const;
  uint64_t work_of_block() const;

  uint64_t steps_ = 0;     // of the running block
  uint64_t progress_ = 0;  // steps_ when a thread last ended or all passed a barrier
  uint64_t resumed_ = 0;   // times that a thread of the running block was resumed
  std::vector<Lane> lanes_;
  unsigned threads_ = 0;
  Options options_;
  std::string kernel_;
  std::vector<Finding>* findings_ = nullptr;  // of the block; nullptr: uses the session's
};

}  // namespace klab::simt
