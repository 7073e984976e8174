// Runs the threads of a block as fibers. Blocks run sequentially, or concurrently on several host threads
// with one executor each (grid_run.h).
//
// A fiber runs one thread until it waits (for a barrier, for lanes of its warp) or ends. A fiber whose thread
// ended continues with the next thread of its warp that has not started, so a kernel without barriers needs
// only one fiber. The scheduler runs warp after warp until nothing can move. It then releases the barrier, or
// reports which threads wait where.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/simt/finding.h"
#include "harness/simt/runtime_api.h"
#include "harness/simt/session.h"

namespace klab::simt {

struct Lane;
class AsyncBlock;
class Cluster;
class Trace;
class GridRun;
struct BlockResult;
struct ClusterBlock;

// threadIdx, blockIdx, blockDim and gridDim of the running thread, for programs (language.h).
extern "C" {
extern constinit thread_local unsigned klab_thread_idx[3], klab_block_idx[3], klab_block_dim[3],
    klab_grid_dim[3];
}

inline constexpr size_t kStackOfThread = 256 << 10;  // bytes: its local memory

struct Fiber {
  boost::context::detail::fcontext_t at = nullptr;
  char* stack = nullptr;  // lowest address
  Lane* lane = nullptr;   // lane whose thread it runs
};

/// An asynchronous copy that was issued and has not landed.
struct AsyncCopy {
  char* to;
  const char* from;
  unsigned bytes, filled;
  const void* site;
};

/// A call of a function that was not inlined: the block of code that contains it, and how many calls made in
/// that block have returned.
struct Frame {
  uintptr_t block = 0;
  uint32_t turn = 0;
};

enum class State : uint8_t { fresh, ready, at_barrier, at_grid, meeting, blocked, done };

/// Fields that every access needs come first, in one cache line.
struct alignas(64) Lane {
  Fiber* fiber = nullptr;
  char* stack = nullptr;  // the fiber's
  uint64_t steps = 0;     // accesses and branches since it began
  // Atomic and volatile accesses in a row that found one word as it was, with no plain access in between.
  uint32_t spins = 0;
  std::vector<Frame> frames;  // of a traced thread: its calls, innermost last
  unsigned thread = 0;        // x + X·(y + Y·z)
  unsigned lane = 0, warp = 0;
  State state = State::fresh;
  unsigned x = 0, y = 0, z = 0;
  // Valid while the lane waits.
  Meeting what = Meeting::syncwarp;
  unsigned mask = 0;
  void* slot = nullptr;
  void (*act)(void* const*, unsigned) = nullptr;
  const char* name = "";
  const char* file = "";
  int line = 0;
  Vote vote = Vote::sync;
  int predicate = 0;
  bool timed_out = false;          // its wait has ended without what it waited for (wait_until_woken)
  uint32_t fenced_at = 0;          // interval of its last fence for the device; 0: none
  bool fenced = false;             // has executed a fence of any scope
  bool waited_for_launch = false;  // griddepcontrol.wait
  // Plain reads of words that atomics of other threads have written, the last ones in turn.
  struct PlainRead {
    const char* word = nullptr;
    uint16_t site = 0;
  };
  std::array<PlainRead, 4> plain_reads{};
  uint8_t next_plain_read = 0;
  std::vector<AsyncCopy> copies;     // of the open group, then of the committed ones
  std::vector<size_t> groups;        // ends of committed groups in `copies`
  const void* spin_at = nullptr;     // the word
  const void* spin_place = nullptr;  // in the code
  uint64_t spin_value = 0;           // that a volatile read found
  /// Records an atomic or volatile access. `same`: it has not changed the word.
  void polled(const void* p, const void* pc, bool same) {
    if (same && p == spin_at && pc == spin_place) {
      ++spins;
      return;
    }
    spins = 0;
    spin_at = p;
    spin_place = pc;
  }
  void runs_on(Fiber* f) {
    fiber = f;
    stack = f->stack;
    f->lane = this;
  }
};

class Executor {
 public:
  Executor();
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void run(const Launch& launch, const std::string& kernel, const Options& options, Trace* trace);
  /// Runs blocks of a grid on one of several threads, until none are left.
  void work_on(GridRun& grid);
  /// Runs the blocks of a grid of clusters, one cluster after the other.
  void work_on_clusters(GridRun& grid);
  /// Takes the memory for blocks' shared variables from the kernel's module. Must be called on the thread
  /// that runs them.
  void attach(const Launch& launch);

  // The next functions are called on a fiber.
  void wait_for_grid(const char* file, int line);
  int wait_at_barrier(Vote vote, int predicate, const char* file, int line);
  void wait_for_lanes(Meeting what, unsigned mask, void* slot, void (*act)(void* const*, unsigned),
                      const char* name, const char* file, int line);
  void let_others_run();
  /// Suspends the running thread until another calls wake() with the same `what`. Returns false if it was woken because no
  /// thread of the block could go on.
  bool wait_until_woken(const void* what, const char* name, const char* file, int line);
  bool wake(const void* what);
  /// The asynchronous state of the running block (async_block.h), created on first use.
  AsyncBlock& async();
  /// Returns whether the bytes are shared memory of the running block.
  bool is_shared(const void* p, size_t bytes) const;
  /// Says that the block is getting on, so that the step limit begins again.
  void progressed() { progress_ = steps_; }
  uint64_t seed() const { return options_.seed; }
  /// Counts one step of the block. Called at every branch and at every traced access.
  void step(const void* pc) {
    if (++steps_ >= turn_) turn_ends(pc);
  }
  /// Ends the launch; the running thread is never resumed.
  [[noreturn]] void abandon(Finding finding);
  /// The same for code that runs when lanes have met, in no thread.
  [[noreturn]] void end_launch(Finding finding);
  /// Returns the finding with kernel, block and thread filled in, of the running lane or of the one given.
  Finding placed(Finding finding, const Lane* lane = nullptr) const;
  /// Adds the finding to the list.
  void report(Finding finding, const Lane* lane = nullptr);
  void add(const Finding& placed);
  /// Waits until all earlier blocks have ended. Called before any operation whose result other blocks can
  /// influence.
  void in_turn() {
    if (!its_turn) wait_for_turn();
  }
  /// Does the same before an access, unless it is to memory of the thread or of the block.
  void in_turn(const void* p) {
    if (!its_turn && !is_the_blocks(p)) wait_for_turn();
  }

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
  uint64_t watched_blocks() const { return watched_; }
  /// Makes `l` the running lane and sets threadIdx.
  void go_on_with(Lane* l) {
    lane = l;
    klab_thread_idx[0] = l->x;
    klab_thread_idx[1] = l->y;
    klab_thread_idx[2] = l->z;
  }

 private:
  void prepare(const Launch& what, const std::string& kernel, const Options& options, Trace* with);
  void run_alone(Session& session, Trace* with);
  void run_one_of(GridRun& grid, BlockResult& result);
  void run_cluster();
  void set_aside(ClusterBlock& to);
  void take_up(unsigned rank);
  void running_no_more();
  void wait_for_turn();
  [[noreturn]] void give_up();
  bool is_the_blocks(const void* p) const;
  uint64_t work_of_block() const;
  static void fiber_main(boost::context::detail::transfer_t from);
  /// A block that waits for the others of its grid: its threads, shared memory and trace.
  struct Parked;
  void begin_block();
  /// Runs until all threads have ended (true) or wait for the grid (false). In a cluster also until only other blocks can
  /// let a thread go on, or until its threads have run for long (false).
  bool run_block();
  void take_block(uint64_t number);
  void run_cooperative(const std::vector<uint64_t>& blocks);
  void park(Parked& to);
  void unpark(Parked& from);
  bool all_at_grid() const;
  bool run_warp(unsigned warp);
  bool hold_meetings(unsigned warp);
  bool release_barrier();
  [[noreturn]] void stuck();
  void resume(Lane& lane);
  void suspend();
  Lane* next_ready();
  Lane* next_fresh(unsigned warp);
  void reset_fibers();
  Fiber* idle_fiber();
  void shuffle_lanes(unsigned warp);
  /// Ends the turn of a thread that has run for long. Other threads run next, or the step limit ends the
  /// launch.
  void turn_ends(const void* pc);
  /// Returns whether every thread of the block has ended, waits for others, or spins on a word.
  bool all_wait() const;
  [[noreturn]] void spins_for_ever();
  /// Returns whether host code may write the word that a thread waits for.
  bool waits_for_host(const Lane& lane) const;
  /// Lets host code run on for a while if a thread waits for it. Returns false if none does, or if nothing can write the word.
  bool host_went_on();

  static constexpr uint64_t kTurn = 1 << 16;
  uint64_t steps_ = 0, turn_ = 0, step_limit_ = 0;  // of the running block; steps_ at which the turn ends
  uint64_t progress_ = 0;                           // steps_ when a thread last ended or all passed a barrier
  unsigned turns_waited_ = 0;                       // turns in a row in which all_wait()
  std::array<uint8_t, 32> in_meetings_{};           // by warp: lanes that wait for others of it
  // position among the lanes of a warp that continue in turn
  unsigned scan_ = 0, scan_first_ = 0, scan_end_ = 0;
  bool yielded_ = false;  // a lane has yielded
  uint64_t resumed_ = 0;  // times that a thread of the running block was resumed
  std::vector<Lane> lanes_;
  std::vector<uint8_t> order_;  // order in which the lanes of a warp begin
  unsigned threads_ = 0;
  unsigned fresh_from_ = 0;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  int vote_ = 0;
  bool aborted_ = false;
  bool divergence_told_ = false;
  uint64_t watched_ = 0;  // number of watched blocks of the launch
  Options options_;
  std::string kernel_;
  Finding fatal_;
  bool given_up_ = false;                     // the launch ended before this block
  std::vector<Finding>* findings_ = nullptr;  // of the block; nullptr: uses the session's
  std::vector<char> dynamic_;
  std::unique_ptr<AsyncBlock> async_;
};

/// Progress callback: blocks of a launch that have run, and how many it has. nullptr: none.
using BlockDone = void (*)(uint64_t done, uint64_t blocks, const std::string& kernel);
extern BlockDone block_done;

/// In programs: ends the program because klab cannot run it, for the reason in the finding. nullptr: the launch ends instead.
using CannotRun = void (*)(const Finding& why);
extern CannotRun cannot_run;

/// Returns CUDA's name for the error that ended the launch.
const char* cuda_name_of(const Finding& fatal);

/// Returns the executor of this host thread.
Executor& executor();
extern constinit thread_local Executor* running;  // nullptr while this thread runs no kernel

}  // namespace klab::simt
