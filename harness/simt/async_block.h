// The asynchronous state of the running block: its barriers in shared memory, copies in flight, bulk groups, named barriers,
// registers of its warps.
//
// A copy lands as late as a correct kernel allows: when a thread waits for the barrier that it completes, one copy after the
// other in an order that the seed chooses, until the phase is over. So a barrier that expects too few bytes lets its waiters
// go while copies are in flight, as a GPU may.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/simt/async_api.h"
#include "harness/simt/async_order.h"
#include "harness/simt/block_runner.h"
#include "harness/simt/tensor_map.h"
#include "harness/simt/wgmma.h"

namespace klab::simt {

enum class BulkReduce : uint8_t;
enum class BulkType : uint8_t;
enum class Note : uint8_t;

/// A copy to shared memory, or the arrival of earlier cp.async, that a barrier waits for.
struct CopyInFlight {
  char* to = nullptr;
  size_t row_bytes = 0;
  uint32_t swizzle = 0;
  uint32_t outside = 0;  // each 4 bytes of elements outside the tensor
  std::vector<BoxRow> rows;
  size_t bytes = 0;               // counted on the barrier
  std::vector<AsyncCopy> pieces;  // of cp.async or st.async
  std::shared_ptr<char[]> data;   // what it copies, if that was taken when it was issued
  uint32_t arrivals = 0;
  bool reduces = false;  // a store that combines with what is there
  BulkReduce how{};
  BulkType type{};
  const char* file = "";
  int line = 0;
  const void* pc = nullptr;
};

/// A phase is over when no arrivals are pending and the transaction count is zero (PTX manual, "Phase of the mbarrier object").
struct Mbarrier {
  char* at = nullptr;
  uint32_t expected = 0, pending = 0;
  int64_t transactions = 0;  // bytes expected and not completed
  uint32_t phase = 0;        // number of phases that are over
  uint16_t agent = 0;        // of the copies that it waits for
  AsyncOrder::Moment began;  // of the thread that initialized it
  uint32_t known_to = 0;     // warps that are behind that
  uint32_t fenced_until =
      0;  // phases of the cluster's barrier behind which fence.mbarrier_init makes it known; 0: none
  bool is_known_behind(uint32_t phases) const { return fenced_until != 0 && phases >= fenced_until; }
  AsyncClocks open, over;  // what arrivals of the open phase, and of the last one, order
  std::vector<CopyInFlight> copies;
};

/// A phase by its number, or by its parity.
struct WaitedPhase {
  uint32_t phase;
  bool by_parity;
};

class AsyncBlock {
 public:
  explicit AsyncBlock(BlockRunner& executor);

  /// Returns whether the 8 bytes are those of an initialized barrier.
  static bool is_barrier(uint64_t word) { return word >> 32 == kWord >> 32; }
  /// Returns the barrier at an address; ends the launch if none was initialized there.
  Mbarrier& mbarrier_at(void* p, const char* what, const char* file, int line);
  void init(void* p, uint32_t count, const char* file, int line, const void* pc);
  void invalidate(void* p, const char* file, int line);
  uint64_t arrive(Mbarrier& b, uint32_t count, Arrival how, int64_t bytes, const char* file, int line,
                  bool releases = true);
  /// The same by a thread of another block of the cluster; `clocks`: what it passes on, as this block has it.
  void arrive_from_peer(Mbarrier& b, uint32_t count, Arrival how, int64_t bytes, const AsyncClocks& clocks,
                        const char* file, int line);
  /// Returns the barrier that was initialized at an address, whose 8 bytes are at `now`; nullptr if there is none.
  Mbarrier* barrier_of(const void* p, const void* now);
  void transact(Mbarrier& b, int64_t bytes, const char* file, int line);
  /// Returns whether the phase is over, and waits for it while another thread can run.
  bool wait(Mbarrier& b, const WaitedPhase& what, const char* file, int line, bool acquires = true);
  /// fence.mbarrier_init by the running thread.
  void inits_fenced();
  void copy_issued(Mbarrier& b, CopyInFlight copy);

  void store_issued(const CopyInFlight& store);
  void bulk_commit();
  void bulk_wait(int left, bool read);

  void named_barrier(uint32_t id, uint32_t threads, bool waits, const char* file, int line);
  void set_registers(uint32_t count, bool more, const char* file, int line);

  /// How a matrix descriptor says that a tile lies: its swizzle, and bytes from 8 rows of the tile to the next 8.
  struct Layout {
    unsigned swizzle;
    uint32_t stride;
    unsigned rows;
  };
  /// Says where the boxes lie that the pieces at two addresses belong to, if they are not `lead` bytes apart; else an empty string.
  std::string other_lead(const void* first, const void* second, uint32_t lead) const;

  void add_constant(const void* p, size_t bytes) { constants_[p] = bytes; }
  /// Returns whether the bytes are those of a __grid_constant__ parameter.
  bool is_constant(const void* p, size_t bytes) const;

  /// Says how the tile at an address was written, if otherwise than `read` says; else an empty string.
  std::string other_layout(const void* p, const Layout& read) const;

  /// No thread can go on: lands copies that threads wait for, or, if it may, ends the waits that have a time limit. Returns
  /// whether a thread can go on.
  bool advance(bool may_time_out);
  /// Says which threads wait for what.
  Finding deadlock() const;
  /// Reports what the block leaves in flight.
  void block_ended();
  /// A thread of the block has done something that others may wait for.
  void moved() { rounds_ = 0; }

  WarpGroups groups;

 private:
  static constexpr uint64_t kWord = 0x6D62617200000000U;  // what memory of an initialized barrier begins with

  /// Stores of a thread: read from shared memory when that is waited for, written to global memory when the thread waits for that
  /// too, or at the end of the block.
  struct Stores {
    uint16_t agent = 0;
    std::vector<std::vector<CopyInFlight>> groups;  // the last is open
    std::vector<std::vector<CopyInFlight>> read;    // groups that hold what they have read, not written yet
    uint16_t completed = 0;                         // groups that have been read
  };
  struct Named {
    uint32_t threads = 0, arrived = 0, line = 0, phase = 0;
    AsyncClocks clocks, over;
  };

  void land(Mbarrier& b);
  /// Lands copies until the phase is over or none are left.
  void land_for_phase(Mbarrier& b);
  void end_phase_if_over(Mbarrier& b);
  /// Reads the first groups from shared memory; writes the first of those that have been read.
  void read_groups(Stores& s, size_t count);
  void write_groups(Stores& s, size_t count);
  uint64_t arrive(Mbarrier& b, uint32_t count, Arrival how, int64_t bytes, const AsyncClocks* clocks,
                  const char* file, int line);
  /// Returns where an address of the block's shared memory lies now: elsewhere while the block is set aside (cluster.h).
  char* here(char* p) const;
  void mark(const CopyInFlight& c, bool pending) const;
  std::string state_of(const Mbarrier& b) const;
  /// Adds an event about a barrier of the block to its recording, if there is one.
  void note(Note what, const Mbarrier& b, uint32_t phase, size_t bytes, int line) const;

  struct Tile {
    const char* end;
    size_t row_bytes;
    unsigned swizzle;
    int line;
  };

  /// Returns the box that holds an address, with its begin; nullptr if no copy has written there.
  const std::pair<const char* const, Tile>* tile_at(const char* p) const;

  BlockRunner& executor_;
  unsigned rank_;                      // in its cluster
  std::map<const char*, Tile> tiles_;  // by their begin: boxes that copies have written
  std::map<const void*, std::unique_ptr<Mbarrier>> mbarriers_;
  std::map<unsigned, Stores> stores_;        // by thread
  std::map<const void*, size_t> constants_;  // parameters of all threads
  std::array<Named, 16> named_;
  std::vector<uint32_t> registers_;  // of a thread, by warp; 0: as launched
  unsigned rounds_ = 0;              // in which waits have ended by their time limit and nothing has moved
  uint64_t turn_ = 0;
};

}  // namespace klab::simt
