// Counts accesses: logs them by lane, replays the logs of a warp into requests, and adds up what requests cost by site.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/simt/access.h"
#include "harness/simt/compiled_count.h"
#include "harness/simt/executor.h"
#include "harness/simt/flow.h"
#include "harness/simt/grid_run.h"
#include "harness/simt/profile.h"
#include "harness/simt/replay.h"
#include "harness/simt/shadow.h"
#include "harness/simt/shared_memory.h"

namespace klab::simt {

class Recording;
enum class Note : uint8_t;

class TraceCount {
 public:
  /// `grid`: whose blocks this host thread runs a part of; nullptr if it runs them all.
  void launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch,
                     GridRun* grid);
  /// Returns a profile for the part of a grid that this host thread runs.
  Profile* joins(GridRun& grid);
  void leaves();
  size_t edges_known() const { return edges_.size(); }
  void learn(const std::vector<Flow::Edge>& news, size_t edges);
  /// Moves the block's results into `result`, and resets them.
  void deliver(BlockResult& result);

  void block_begins();
  void block_ended();
  /// State of a block that is set aside.
  struct Parked {
    std::vector<WarpLog> logs;
    std::vector<int64_t> accesses;
    int64_t barriers = 0;
  };
  Parked park();
  void unpark(Parked block);

  /// Recently used sites, with the memory that each accessed last.
  struct KnownSite {
    const void* pc = nullptr;
    // start of memory that belongs entirely to the kernel and begins at a word
    const char* begin = nullptr;
    size_t bytes = 0;                // 0: not known
    Cell* cells = nullptr;           // cells of its words, in global memory
    SharedShadow* shared = nullptr;  // or the shadow that has them
    uint16_t site = 0;
    uint8_t kind = 0;
  };
  KnownSite& known_site(const void* pc) {
    return known_sites_[reinterpret_cast<uintptr_t>(pc) / 2 % known_sites_.size()];
  }
  /// Device memory has been freed: no site is known to access it.
  void forget_memory() {
    for (KnownSite& known : known_sites_) known.bytes = 0;
  }
  uint16_t site_of(const void* pc, Space space, uint8_t how, size_t bytes);
  const void* place_of(uint16_t site) const;

  /// Adds an access to the lane's log.
  void log(Lane& lane, const void* p, size_t bytes, uint16_t site);
  /// The same for a read of __constant__ memory by the running thread.
  void read_constant(const char* p, size_t bytes, uint8_t how, const void* pc);
  bool counts() const { return counting_; }
  Recording* recording() const { return recording_; }
  // The lane enters a block of code, or begins or ends a function that is not inlined.
  void block_entered(Lane& lane, const void* pc);
  void function_entered(Lane& lane) {
    if (counting_) lane.frames.emplace_back();
  }
  void function_left(Lane& lane);
  void barrier_passed();
  /// All lanes of the warp have met.
  void warp_synchronized(unsigned warp) {
    if (compiled_.counts()) compiled_.warp_synchronized(warp);
  }
  void note(Note what, int line, uint32_t value, uint32_t amount, const void* barrier,
            const std::string& name);
  void copy_engine_counts(bool write, size_t width, int64_t bytes, int64_t sectors, const void* pc);
  /// Counts the logs of a warp. `going_on`: lanes that will log more without waiting for others.
  void replay(unsigned warp, uint32_t going_on);

 private:
  /// Log entries after which a lane lets the others catch up, so that logs stay short.
  static constexpr size_t kLongLog = 4096;
  /// Steps after which it does if nothing is logged.
  static constexpr uint64_t kTurnOfLane = 16384;

  void log_place(Lane& lane);
  void account(unsigned warp, uint16_t site, uint32_t bytes, uint32_t mask, const uintptr_t* address);
  /// Passes on a note of several lanes, those that hold the same together.
  void noted(unsigned warp, uint16_t site, uint32_t line, uint32_t mask, const uintptr_t* what);

  Executor* executor_ = nullptr;
  Profile* profile_ = nullptr;
  GridRun* grid_ = nullptr;
  bool counting_ = false;
  std::array<KnownSite, 256> known_sites_;
  std::vector<WarpLog> logs_;  // by warp
  Flow flow_;                  // flow of the kernel
  Recording* recording_ = nullptr;
  CompiledCounter compiled_;
  int64_t barriers_ = 0;
  std::vector<int64_t> accesses_;  // by thread of the block
  std::unique_ptr<Profile> own_profile_;
  LaunchRecord own_record_;
  std::vector<uint16_t> sites_of_block_;  // in order of first use
  std::vector<uint8_t> is_of_block_;      // by site
  std::vector<Flow::Edge> edges_;         // flow of the kernel that the block began with
  KnownFlow known_flow_;                  // used when blocks run sequentially
  uint64_t blocks_begun_ = 0;
};

[[gnu::always_inline]] inline void TraceCount::log(Lane& lane, const void* p, size_t bytes, uint16_t site) {
  if (!counting_) {
    if (lane.steps % kTurnOfLane == 0) executor_->let_others_run();
    return;
  }
  if (compiled_.counts() && !lane.frames.empty()) compiled_.seen(site, lane.frames.back().block);
  ++accesses_[lane.thread];
  WarpLog& log = logs_[lane.warp];
  if (log.accessed(lane.lane, reinterpret_cast<uintptr_t>(p), uint32_t(bytes), site) >= kLongLog)
    executor_->let_others_run();
}

inline void TraceCount::log_place(Lane& lane) {
  WarpLog& log = logs_[lane.warp];
  const Frame& here = lane.frames.back();
  if (log.entered(lane.lane, {here.block, here.turn, uint16_t(lane.frames.size())}) >= kLongLog)
    executor_->let_others_run();
}

inline void TraceCount::block_entered(Lane& lane, const void* pc) {
  if (!counting_) return;
  if (lane.frames.empty()) lane.frames.emplace_back();
  const auto block = reinterpret_cast<uintptr_t>(pc);
  Frame& here = lane.frames.back();
  if (here.block != 0) flow_.follows(here.block, block);
  here = {block, 0};
  log_place(lane);
}

inline void TraceCount::function_left(Lane& lane) {
  auto& frames = lane.frames;
  if (!counting_ || frames.empty()) return;
  flow_.follows(frames.back().block, Flow::kEnd);
  frames.pop_back();
  if (frames.empty() || frames.back().block == 0) return;
  ++frames.back().turn;
  log_place(lane);
}

}  // namespace klab::simt
