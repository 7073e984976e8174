// Watches every access of a running kernel: is it legal, is it ordered with others, and what does it cost.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/simt/compiled_count.h"
#include "harness/simt/executor.h"
#include "harness/simt/grid_run.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"
#include "harness/simt/profile.h"
#include "harness/simt/replay.h"
#include "harness/simt/shadow.h"
#include "harness/simt/split_cells.h"

namespace klab::simt {

/// Shadow of a block's shared memory, static or dynamic. Forgotten from block to block.
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
  /// The cells of whole words from there on.
  [[gnu::always_inline]] Cell* cells(const char* p, size_t bytes) {
    for (size_t at = 4; at < bytes; at += 4) cell(p + at);
    return &cell(p);
  }
  size_t offset(const char* p) const { return size_t(p - begin_); }
  size_t bytes() const { return bytes_; }
  const char* begin() const { return begin_; }
  /// Forgets the last block, and spoils what it left.
  void forget();
  /// Everything has been written, and what was done is ordered before what comes.
  void all_defined();

 private:
  char* begin_ = nullptr;
  size_t bytes_ = 0;
  std::vector<Cell> cells_;
  std::vector<uint32_t> touched_;
};

/// kMerges: an atomic that the compiler gives to one lane of a warp where all come to one address.
enum Access : uint8_t { kRead = 0, kWrite = 1, kAtomic = 2, kVolatile = 4, kAsync = 8, kMerges = 16 };

class Trace {
 public:
  void launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch);
  void launch_ended();

  // Of a thread that runs some of the blocks of a grid.
  void joins(Executor& executor, GridRun& grid);
  void leaves();
  /// What the next block begins with: the kernel's flow, so many edges, of which the last are news.
  size_t edges_known() const { return edges_.size(); }
  void learn(const std::vector<Flow::Edge>& news, size_t edges);
  void block_abandoned() { settle(); }
  /// Hands over what has been seen of the block, and forgets it.
  void tell(BlockResult& result);

  /// Numbers of `count` new intervals of time; the first. Of the whole process: threads of the host that launch beside each
  /// other may use the same memory.
  static uint32_t new_intervals(uint32_t count);

  void access(const void* p, size_t bytes, uint8_t how, const void* pc);
  /// The same of most accesses of a running thread: 4, 8 or 16 bytes that are read, or written.
  template <unsigned bytes, bool write>
  void plain_access(Executor& executor, Lane& lane, const void* p, const void* pc);
  /// An index outside of its array, as the compiler sees it; `array` is its type.
  void bad_index(int64_t index, const std::string& array, const char* file, int line);
  void step(const void* pc);
  /// The running thread enters a block of code, begins or ends a function that is not inlined.
  void block_entered(const void* pc);
  void function_entered();
  void function_left();
  void fence();  // __threadfence by the running thread
  void atomic_at(const void* p);
  void copy_issued(const AsyncCopy& copy);
  void copy_landed(const AsyncCopy& copy);

  /// What is known of a block that waits for the others of its grid, and is put aside until they have come.
  struct ParkedBlock {
    std::vector<WarpLog> logs;
    std::vector<int64_t> accesses;
    int64_t barriers = 0;
  };
  ParkedBlock park();
  void unpark(ParkedBlock block);
  /// All blocks have met: what was done before is ordered before what comes.
  void grid_synchronized();

  void block_begins();
  void block_ended();
  void barrier_passed(const char* file, int line);
  void warp_synchronized(unsigned warp, unsigned present);
  /// A warp's lanes wait or have ended: their logs are counted.
  void segment_ended(unsigned warp);
  void segment_full(unsigned warp);

 private:
  /// A lane that has logged so many accesses lets the others catch up, so that logs stay short.
  static constexpr size_t kLongLog = 4096;

  struct WarpClock {
    uint16_t now = 0, full = 0;
    std::array<uint16_t, 32> any{};  // last synchronization each lane took part in
    std::vector<uint16_t> pairs;     // [32,32], when masks were partial
  };

  /// Most accesses: of a whole word whose last ones were long ago, or the thread's own. False where watch() has to look.
  bool seen_quickly(Cell& cell, bool write, uint16_t site, const Lane& me);
  uint16_t site_of(const void* pc, Space space, uint8_t how, size_t bytes);
  bool ordered(uint32_t interval, uint16_t who, uint16_t sync) const;
  bool acquired(uint32_t interval) const;
  void watch(Cell& cell, char* word, unsigned first, unsigned last, uint8_t how, uint16_t site, bool shared);
  void check_cell(Cell& cell, const char* p, unsigned bytes, uint8_t how, uint16_t site, bool shared);
  void race(const Cell& cell, bool with_writer, const char* p, unsigned bytes, uint8_t how, uint16_t site,
            bool shared);
  void settle();  // judges the write that may have changed nothing
  bool is_constant(const char* c, size_t bytes, uint8_t how, const void* pc, Allocation** variable);
  /// The cells of a plain, aligned access to memory that is the kernel's beyond doubt; nullptr where look_closely() must say.
  Cell* cells_of(const char* c, size_t bytes, Space* space);
  void watch_words(Cell* cells, const char* c, size_t bytes, uint8_t how, uint16_t site, Space space,
                   Lane& lane);
  void look_closely(const void* p, size_t bytes, uint8_t how, const void* pc);
  void log(Lane& lane, const void* p, size_t bytes, uint16_t site);
  [[noreturn]] void misaligned(const void* p, size_t bytes, uint8_t how, const void* pc);
  [[noreturn]] void illegal(const void* p, size_t bytes, uint8_t how, const void* pc);
  std::string where_in_shared(const char* p) const;
  bool is_the_kernels(const char* p, size_t bytes) const;  // of static shared memory
  std::string who(uint32_t interval, uint16_t thread) const;
  std::string who_am_i() const;
  void place(Finding& finding, const void* pc) const;

  void begins(Executor& executor, Session& session, Profile* profile, const Launch& launch);
  uint32_t next_interval();
  /// Whether that was in the running block.
  bool is_of_my_block(uint32_t interval) const;
  /// Whether another block of the launch did that.
  bool is_of_another(uint32_t interval) const {
    return interval >= launch_first_ && !is_of_my_block(interval);
  }
  bool comes_behind_me(uint32_t interval) const;
  uint64_t turn_of(uint32_t interval) const;
  uint64_t block_of(uint32_t interval) const;
  const void* place_of(uint16_t site) const;
  /// Watches a word of global memory that other threads may come to at the same time.
  void watch_held(Cell& cell, char* word, unsigned first, unsigned last, uint8_t how, uint16_t site);
  bool meets_another(const Cell& cell, uint8_t how) const;
  void log_place(Lane& lane);
  void replay(unsigned warp, uint32_t going_on);
  void account(unsigned warp, uint16_t site, uint32_t bytes, uint32_t mask, const uintptr_t* address);

  Executor* executor_ = nullptr;
  Session* session_ = nullptr;
  Profile* profile_ = nullptr;
  SharedShadow static_, dynamic_;
  std::vector<SharedVariable> variables_;  // static ones that the kernel may use, by offset; empty: not known
  std::vector<uint16_t> variable_of_;      // word of static shared memory -> 1 + index in variables_
  std::vector<WarpLog> logs_;              // of each warp
  Flow flow_;                              // of the kernel
  bool counting_ = false;
  CompiledCounter compiled_;

  /// Sites that were asked for last, by where they are, and the memory that they came to.
  struct KnownSite {
    const void* pc = nullptr;
    const char* begin = nullptr;     // of what is the kernel's to the end, and begins at a word
    size_t bytes = 0;                // 0: not known
    Cell* cells = nullptr;           // of its words, in global memory
    SharedShadow* shared = nullptr;  // or that knows them
    uint16_t site = 0;
    uint8_t kind = 0;
  };
  KnownSite& known_site(const void* pc) {
    return known_sites_[reinterpret_cast<uintptr_t>(pc) / 2 % known_sites_.size()];
  }
  void remember(KnownSite& known, const char* c, Space space);
  std::array<KnownSite, 256> known_sites_;

  uint32_t interval_ = 0, launch_first_ = 0, block_first_ = 0;
  std::vector<WarpClock> clocks_;
  GridRun* grid_ = nullptr;  // of whose blocks this thread runs some
  std::unique_ptr<Profile> own_profile_;
  LaunchRecord own_record_;
  uint32_t chunk_end_ = 0;  // behind the intervals that the block has been given
  uint32_t chunk_ = 2;      // how many the next one is given
  std::vector<std::pair<uint32_t, uint32_t>>
      chunks_;                            // that the block had before: first, and behind the last
  std::vector<uint16_t> sites_of_block_;  // in the order it came to them
  std::vector<uint8_t> is_of_block_;      // of each site
  std::vector<Flow::Edge> edges_;         // the kernel's flow that the block began with
  uint64_t frees_seen_ = 0;               // Device memory that was freed until now
  KnownFlow known_flow_;                  // where blocks run one after the other
  uint64_t blocks_begun_ = 0;
  std::vector<uint32_t> block_firsts_;  // first interval of each block of the launch, in the order they ran
  std::vector<uint64_t> block_numbers_;
  SplitCells split_shared_, split_global_;

  // Order between blocks: a block that has fenced releases by an atomic what it wrote up to the fence's interval, and who
  // comes to the same address later acquires it.
  uint32_t fenced_ = 0;  // interval of the block's last fence; 0: none
  std::vector<GridRun::Released> released_;
  std::vector<uint32_t> acquired_;  // as `until`

  struct Doubt {
    const char* p = nullptr;
    unsigned bytes = 0;
    char before[16] = {};
    Finding finding;
  } doubt_;
  const char* parameters_ = nullptr;
  size_t parameter_bytes_ = 0;
  int64_t barriers_ = 0;
  std::vector<int64_t> accesses_;  // of each thread of the block
};

/// The one of this host thread.
Trace& trace_of_thread();

}  // namespace klab::simt
