// Checks every access of a running kernel: whether it is legal, whether it is ordered with others, and how
// much it costs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/simt/async_order.h"
#include "harness/simt/compiled_count.h"
#include "harness/simt/contain.h"
#include "harness/simt/executor.h"
#include "harness/simt/grid_run.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"
#include "harness/simt/profile.h"
#include "harness/simt/replay.h"
#include "harness/simt/shadow.h"
#include "harness/simt/split_cells.h"

namespace klab::simt {

class Cluster;
class Recording;
enum class Note : uint8_t;

/// Shadow of a block's shared memory, static or dynamic. Cleared after each block.
class SharedShadow {
 public:
  void attach(char* begin, size_t bytes);
  bool holds(const char* p) const { return p >= begin_ && p < begin_ + bytes_; }
  [[gnu::always_inline]] Cell& cell(const char* p) {
    const size_t word = size_t(p - begin_) / 4;
    Cell& c = cells_[word];
    if (c.write_interval == 0 && c.read_interval == 0) touched_.push_back(uint32_t(word));
    return c;
  }
  /// Returns the cells of the whole words from p on.
  [[gnu::always_inline]] Cell* cells(const char* p, size_t bytes) {
    for (size_t at = 4; at < bytes; at += 4) cell(p + at);
    return &cell(p);
  }
  size_t offset(const char* p) const { return size_t(p - begin_); }
  bool is_defined(const char* p) const { return (cells_[offset(p) / 4].defined >> (offset(p) % 4) & 1) != 0; }
  size_t bytes() const { return bytes_; }
  const char* begin() const { return begin_; }
  /// Clears the last block's cells, and overwrites its shared memory.
  void forget();
  /// Marks everything as written, and earlier accesses as ordered before later ones.
  void all_defined();

 private:
  char* begin_ = nullptr;
  size_t bytes_ = 0;
  std::vector<Cell> cells_;
  std::vector<uint32_t> touched_;
};

/// kMerges: an atomic that the compiler executes in one lane of a warp when all lanes use one address.
/// kDecides: an atomic whose result decides (compare and swap, minimum, ...), so that an earlier plain read of
/// the word was only a hint. kStrong: a load or store that is atomic, rather than volatile.
enum Access : uint8_t {
  kRead = 0,
  kWrite = 1,
  kAtomic = 2,
  kVolatile = 4,
  kAsync = 8,
  kMerges = 16,
  kDecides = 32,
  kStrong = 64
};

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
/// A thread of the running launch has executed griddepcontrol.wait.
extern std::atomic<bool> launch_before_was_waited_for;

class Trace {
 public:
  void launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch);
  void launch_ended();

  // For a thread that runs some of the blocks of a grid.
  void joins(Executor& executor, GridRun& grid);
  void leaves();
  /// Number of edges of the kernel's flow that the trace knows, and learn(), which sets those that the next
  /// block begins with: `edges` in total, the last of them `news`.
  size_t edges_known() const { return edges_.size(); }
  void learn(const std::vector<Flow::Edge>& news, size_t edges);
  void block_abandoned() { settle(); }
  /// Moves the block's results into `result`, and resets them.
  void deliver(BlockResult& result);

  /// Reserves `count` intervals of time; returns the first. Their numbers are unique in the process, since
  /// host threads that launch concurrently may use the same memory.
  static uint32_t new_intervals(uint32_t count);

  void access(const void* p, size_t bytes, uint8_t how, const void* pc);
  /// Handles the common accesses of a running thread: plain reads and writes of 4, 8 or 16 bytes.
  template <unsigned bytes, bool write>
  void plain_access(Executor& executor, Lane& lane, const void* p, const void* pc);
  /// Reports an index outside its array, as checked by the compiler; `array` is the array's type.
  void bad_index(int64_t index, const std::string& array, const char* file, int line, const void* pc);
  /// Reports a structure at an address that is no multiple of its alignment, as checked by the compiler. Ends the launch.
  void bad_alignment(const void* p, size_t alignment, bool write, const std::string& type, const char* file,
                     int line, const void* pc);
  void step(const void* pc);
  /// Record that the running thread enters a block of code, or begins or ends a function that is not inlined.
  void block_entered(const void* pc);
  void function_entered();
  void function_left();
  void fence(bool whole_device);  // __threadfence or __threadfence_block by the running thread
  /// Handles the order that an atomic creates, or a load or store of a flag (kVolatile). `acquires`: a fence is part of it.
  void atomic_at(const void* p, uint8_t how = kWrite | kAtomic, bool acquires = false);
  /// Lanes of a warp have met. That is taken for the fence behind a flag.
  void lanes_met(unsigned warp, unsigned present) {
    for (unsigned lane = 0; unfenced_count_ != 0 && lane < 32; ++lane)
      if (present >> lane & 1) is_behind_flag(warp * 32 + lane);
  }
  void copy_issued(const AsyncCopy& copy);
  void copy_landed(const AsyncCopy& copy);

  // Barriers in shared memory, named barriers, and agents (async_order.h).
  uint16_t new_agent(AgentKind kind);
  /// Returns what the running thread passes on by an arrival.
  AsyncClocks released();
  /// Records that the running thread has waited for arrivals that passed this on.
  void acquired(const AsyncClocks& clocks);
  /// Records that the running thread knows the agent's accesses below `until` to be over.
  void agent_known(uint16_t agent, uint16_t until);
  /// Orders accesses of the running thread before those of agents: fence.proxy.async.
  void proxy_fenced();
  AsyncOrder::Moment now() const;
  /// Returns whether that is ordered before the running thread.
  bool comes_before_me(const AsyncOrder::Moment& moment) const;
  /// Checks a read by an agent of shared memory, whole words, ordered as the running thread's accesses are. The first error is
  /// reported at `file`:`line`, and ends the check: false.
  /// `owner`: of the agent, if that is another block of the cluster.
  bool agent_reads(const char* p, size_t bytes, uint16_t agent, uint16_t sync, const void* pc,
                   const char* file, int line, Trace* owner = nullptr);
  /// Checks the write that initializes a barrier, which is not counted.
  void barrier_written(char* p, const void* pc);
  /// Checks the issue of a copy to shared memory; the data are in flight until agent_landed().
  /// `owner`: of the memory and of the agent, if that is another block of the cluster, which has the address `p`. `reduces`: it
  /// combines with what is there, in any order with others that do.
  void agent_writes(char* p, size_t bytes, uint16_t agent, uint16_t sync, const void* pc,
                    Trace* owner = nullptr, bool reduces = false);
  /// The same for a copy in flight that the running thread has issued itself.
  void agent_takes(char* p, size_t bytes, uint16_t agent, uint16_t sync);
  void agent_landed(char* p, size_t bytes, uint16_t sync);
  /// Checks an access of the copy engine to neighbors in global memory.
  void copy_engine_accesses(const char* p, size_t bytes, bool write, const void* pc, bool atomic = false);
  /// Counts a copy: its bytes and sectors of global memory. `width`: bytes of a row.
  void copy_engine_counts(bool write, size_t width, int64_t bytes, int64_t sectors, const void* pc);

  // Clusters: each block has a trace, and looks into those of the others.
  void joins_cluster(Cluster* cluster, unsigned rank);
  /// Records that the running thread uses shared memory of the block of that rank, and is not behind its end.
  void uses_peer(unsigned rank, const void* pc, const char* file, int line);
  /// The block is about to end: reports uses of its shared memory by others that are not ordered before that.
  void check_uses_by_peers();

  /// The running thread has waited for the launch before this one.
  void waited_for_launch_before();

  /// Adds an event of the running thread to the recording of its block, if there is one (recording.h). `barrier` and `name`: of the
  /// barrier that it is about.
  void note(Note what, int line, uint32_t value = 0, uint32_t amount = 0, const void* barrier = nullptr,
            const std::string& name = {});
  bool is_recorded() const { return recording_ != nullptr; }

  /// State of a block that waits for the others of its grid and is set aside until they arrive.
  struct ParkedBlock {
    std::vector<WarpLog> logs;
    std::vector<int64_t> accesses;
    int64_t barriers = 0;
  };
  ParkedBlock park();
  void unpark(ParkedBlock block);
  /// All blocks have met: orders earlier accesses before later ones.
  void grid_synchronized();

  void block_begins();
  void block_ended();
  void barrier_passed(const char* file, int line);
  void warp_synchronized(unsigned warp, unsigned present);
  /// Counts the logs of a warp whose lanes all wait or have ended.
  void segment_ended(unsigned warp);
  void segment_full(unsigned warp);

 private:
  /// Log entries after which a lane lets the others catch up, so that logs stay short.
  static constexpr size_t kLongLog = 4096;
  /// Clock of a warp up to which fences advance it; the rest is for __syncwarp.
  static constexpr uint16_t kMostFences = 0x8000;

  struct WarpClock {
    uint16_t now = 0, full = 0;
    std::array<uint16_t, 32> any{};  // last synchronization of each lane
    std::vector<uint16_t> pairs;     // [32,32], after partial masks
  };

  /// Handles most accesses: whole words whose last accesses were long ago or by the same thread. Returns
  /// false if watch() has to handle it.
  bool seen_quickly(Cell& cell, const char* word, bool write, uint16_t site, const Lane& me);
  uint16_t site_of(const void* pc, Space space, uint8_t how, size_t bytes);
  bool ordered(uint32_t interval, uint16_t who, uint16_t sync) const;
  bool acquired(uint32_t interval, uint16_t who, uint16_t sync) const;
  void order_warps(const void* p, bool reads, bool writes, bool acquires);
  /// The running thread is about to see by a flag what other threads have released.
  void sees_flag(bool acquires);
  /// The thread has executed a fence behind the flags that it has seen.
  void is_behind_flag(unsigned thread) {
    if (thread < unfenced_.size() && std::exchange(unfenced_[thread].on, false)) --unfenced_count_;
  }
  void all_behind_flags() {
    unfenced_.clear();
    unfenced_count_ = 0;
  }
  /// Returns whether the running thread's warp has acquired what `who`, of its block, did in this interval.
  bool acquired_in_block(uint16_t who, uint16_t sync) const;
  /// Returns whether two accesses that are both atomic or volatile need no order between them.
  bool has_fenced(bool shared) const;
  bool is_excused(const Cell& cell, bool with_writer, const char* p, unsigned bytes, uint8_t how,
                  bool shared) const;
  /// Records that the plain reads of a word by the running thread were hints for the atomic it now makes.
  void were_hints(const Cell& cell, const char* word);
  void hint(uint16_t site);
  void watch(Cell& cell, char* word, unsigned first, unsigned last, uint8_t how, uint16_t site, bool shared);
  void check_cell(Cell& cell, const char* p, unsigned bytes, uint8_t how, uint16_t site, bool shared);
  void race(const Cell& cell, bool with_writer, const char* p, unsigned bytes, uint8_t how, uint16_t site,
            bool shared);
  bool is_only_padding(const char* word, uint8_t missing, uint16_t site) const;
  bool is_behind_text(const char* p) const;
  bool agent_reads_word(Cell& cell, const char* word, uint16_t agent, uint16_t sync, uint32_t when,
                        uint16_t site, const char* file, int line);
  bool agent_may_write(const Cell& cell, const char* word, uint16_t site, bool reduces);
  /// Returns whether all readers of a set (AsyncOrder::add_reader), the last of them in that interval, are ordered before the
  /// running thread's next access.
  bool readers_are_over(uint32_t interval, uint16_t set) const;
  void turn_on_async();
  Cell& shared_cell(const char* p) { return dynamic_.holds(p) ? dynamic_.cell(p) : static_.cell(p); }
  /// Returns the rank of the block of my cluster that an interval belongs to; -1 if there is none.
  int rank_of(uint32_t interval) const;
  /// Returns whether a proxy fence lies behind a thread's write.
  bool is_fenced(const Cell& cell) const;
  uint32_t reader_interval(uint32_t interval) const { return cluster_ != nullptr ? interval : 0; }
  void access_peer(const void* p, size_t bytes, uint8_t how, const void* pc);
  /// Names a word of shared memory, also of another block.
  std::string name_in_shared(const char* p, uint16_t site) const;
  void settle();  // judges the pending write, which may have changed nothing, and undoes illegal accesses
  void judge();
  bool is_constant(const char* c, size_t bytes, uint8_t how, const void* pc, Allocation** variable);
  /// Returns the cells of a plain, aligned access to memory that certainly belongs to the kernel; nullptr if
  /// check_fully() has to decide.
  Cell* cells_of(const char* c, size_t bytes, Space* space);
  void watch_words(Cell* cells, const char* c, size_t bytes, uint8_t how, uint16_t site, Space space,
                   Lane& lane);
  void check_fully(const void* p, size_t bytes, uint8_t how, const void* pc);
  void log(Lane& lane, const void* p, size_t bytes, uint16_t site);
  [[noreturn]] void misaligned(const void* p, size_t bytes, uint8_t how, const void* pc);
  /// Reports an access outside the kernel's memory. Ends the launch, or returns if the kernel may go on.
  void illegal(const void* p, size_t bytes, uint8_t how, const void* pc);
  Finding illegal_access(const char* c, size_t bytes, uint8_t how) const;
  bool may_go_on(const char* c, size_t bytes, uint8_t how);
  /// Returns the structure that the running access is a piece of, or nullptr.
  const char* structure() const {
    return executor_->aggregate.bytes != 0 ? executor_->aggregate.begin : nullptr;
  }
  /// Ends the launch for the bad index that bad_index() left to the access that was to follow.
  void index_was_bad();
  std::string where_in_shared(const char* p) const;
  bool is_the_kernels(const char* p, size_t bytes) const;  // in static shared memory
  std::string who(uint32_t interval, uint16_t thread) const;
  std::string readers_of(uint16_t set) const;
  std::string who_am_i() const;
  void place(Finding& finding, const void* pc) const;

  void begins(Executor& executor, Session& session, Profile* profile, const Launch& launch);
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
  const void* place_of(uint16_t site) const;
  /// Watches a word of global memory that other threads may access concurrently.
  void watch_held(Cell& cell, char* word, unsigned first, unsigned last, uint8_t how, uint16_t site);
  bool meets_another(const Cell& cell, uint8_t how) const;
  void log_place(Lane& lane);
  void replay(unsigned warp, uint32_t going_on);
  void account(unsigned warp, uint16_t site, uint32_t bytes, uint32_t mask, const uintptr_t* address);
  void noted(unsigned warp, uint16_t site, uint32_t line, uint32_t mask, const uintptr_t* what);

  Executor* executor_ = nullptr;
  Session* session_ = nullptr;
  Profile* profile_ = nullptr;
  SharedShadow static_, dynamic_;
  // static variables that the kernel may use, by offset; empty: not known
  std::vector<SharedVariable> variables_;
  std::vector<uint16_t> variable_of_;  // word of static shared memory -> 1 + index in variables_
  std::vector<WarpLog> logs_;          // by warp
  Flow flow_;                          // flow of the kernel
  bool counting_ = false;
  Recording* recording_ = nullptr;
  CompiledCounter compiled_;

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
  void remember(KnownSite& known, const char* c, Space space);
  std::array<KnownSite, 256> known_sites_;

  uint32_t interval_ = 0, launch_first_ = 0, block_first_ = 0;
  // Before this interval everything is over. Behind it may be work of other streams that is not ordered.
  uint32_t all_over_before_ = 0;
  const EarlierWork* unordered_at(uint32_t interval) const;
  void launch_is_behind(uint32_t interval);
  std::vector<WarpClock> clocks_;
  GridRun* grid_ = nullptr;  // grid whose blocks this thread runs a part of
  std::unique_ptr<Profile> own_profile_;
  LaunchRecord own_record_;
  uint32_t chunk_end_ = 0;                             // end of the intervals assigned to the block
  uint32_t chunk_ = 2;                                 // number of intervals assigned next
  std::vector<std::pair<uint32_t, uint32_t>> chunks_;  // earlier intervals of the block: first, and end
  std::vector<uint16_t> sites_of_block_;               // in order of first use
  std::vector<uint8_t> is_of_block_;                   // by site
  std::vector<uint8_t> is_hint_;                       // by site
  std::vector<Flow::Edge> edges_;                      // flow of the kernel that the block began with
  uint64_t frees_seen_ = 0;                            // device_frees when last checked
  KnownFlow known_flow_;                               // used when blocks run sequentially
  uint64_t blocks_begun_ = 0;
  std::vector<uint32_t> block_firsts_;  // first interval of each block of the launch, in the order they ran
  std::vector<uint64_t> block_numbers_;
  SplitCells split_shared_, split_global_;

  // Order between blocks. A fence covers what its thread has done, and what other threads have done before
  // the last barrier. The thread's next atomic or flag releases that; so does an atomic behind a later barrier. Blocks
  // that later access the same address acquire it; the thread that does so needs a fence behind that.
  struct Fences {
    uint32_t interval = 0;  // 0: none
    ThreadClocks threads;   // covered by fences in it
  };
  Fences fences_, fences_before_;  // of the last two intervals of the block that have any
  Releases released_;
  ReleasedThreads released_threads_;
  std::vector<uint32_t> acquired_;  // same meaning as `until`

  /// What a thread had acquired before it saw a flag, with no fence since.
  struct Unfenced {
    bool on = false;
    std::vector<uint32_t> acquired;  // acquired_
    ThreadClocks of_warps;           // warp_acquired_
  };
  std::vector<Unfenced> unfenced_;  // by thread
  size_t unfenced_count_ = 0;
  const Unfenced* unfenced_now_ = nullptr;  // of the running thread, during a plain access

  // Order between warps of a block within an interval. A fence of any scope covers what its thread has done, and what its
  // warp had done when its lanes last met. The thread's next atomic or flag releases that, in global or shared memory; a warp
  // that later accesses the address acquires it.
  struct Fenced {
    uint32_t interval = 0;         // of the last fence; 0: none
    uint16_t until = 0, full = 0;  // clocks of the warp then: of the fence, and when its lanes last met
  };
  std::vector<Fenced> fenced_;     // by thread
  uint32_t warp_releases_in_ = 0;  // the interval of the following two
  std::unordered_map<const void*, ThreadClocks> warp_releases_;
  std::vector<ThreadClocks> warp_acquired_;  // by warp
  AsyncOrder async_;
  Cluster* cluster_ = nullptr;
  unsigned rank_ = 0;
  Trace* owner_ = this;  // of the shared memory that is accessed
  struct Use {
    uint32_t interval = 0;  // 0: none
    uint16_t sync = 0;
    const void* pc = nullptr;  // or file and line
    const char* file = "";
    int line = 0;
  };
  std::vector<std::vector<Use>> uses_;  // of shared memory of a block, by rank and thread: the last ones
  // A thread of the block has waited for the launch before; a barrier lies behind that.
  bool waited_for_launch_ = false, block_waited_for_launch_ = false;
  bool has_waited_for_launch() const;
  /// Adds what a fence of the thread covers.
  void cover(ThreadClocks& clocks, unsigned thread, const Fenced& fence) const;

  struct Doubt {
    const char* p = nullptr;
    unsigned bytes = 0;
    char before[16] = {};
    bool may_be_flag = false;  // a word that becomes 1 is a flag, which needs no order
    Finding finding;
  } doubt_;
  Contained contained_;
  struct BadIndex {
    const Lane* lane = nullptr;  // nullptr: none
    Finding finding;
  } bad_index_;
  bool unsettled_ = false;  // one of these three is pending
  const char* parameters_ = nullptr;
  size_t parameter_bytes_ = 0;
  int64_t barriers_ = 0;
  std::vector<int64_t> accesses_;  // by thread of the block
};

/// Returns the trace of this host thread.
Trace& trace_of_thread();

}  // namespace klab::simt
