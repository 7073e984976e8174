// What the watched launches of a host thread do, in more detail than counts: which sectors of which arrays, which banks, how many
// lanes, and in which order the warps of one block went on. For pictures.
//
//   simt::Recording recording;
//   ... launches of a traced session, on this thread ...
//   for (const RecordedArray& a : recording.arrays()) ...
//
// Its memory is bounded (kMostRecordedBytes); left_out() says what it had no room for. Launches that are recorded run on one host
// thread, so that "first" has a meaning.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/simt/profile.h"

namespace klab::simt {

class Executor;

/// Limits of a recording.
inline constexpr size_t kMostArrays = 32, kMostCells = 1 << 16;  // cells: of one array
inline constexpr size_t kMostRecordedPlaces = 4096;              // accesses, and blocks of code
inline constexpr size_t kMostBlocks = 4,
                        kMostBlockEvents = 200'000;  // blocks with a time line; events of one
inline constexpr size_t kMostMerged = 1 << 16;       // sectors of atomics that may be merged
inline constexpr size_t kMostSteppedWarps = 8;       // warps of a block whose requests are kept lane by lane
inline constexpr size_t kMostSteppedRequests = 256;  // of one warp
inline constexpr size_t kMostHeats = 256;            // accesses with a heat of lanes against addresses
inline constexpr unsigned kHeatColumns = 64;
/// An upper bound on what a recording keeps, bytes.
inline constexpr size_t kMostRecordedBytes = 100'000'000;

/// Uses of a piece of an array in global memory. A plain request counts once for each of its sectors in the piece; an atomic one as
/// often as a sector is sent (cost_of() in trace_count.cpp).
struct SectorUse {
  uint32_t reads = 0, writes = 0, atomics = 0;
  uint32_t first_block = 0;  // number of the block, in the grid, whose warp used it first
  uint16_t first_warp = 0;
  bool used = false;
};

struct RecordedArray {
  std::string name;
  size_t bytes = 0;
  size_t lead = 0;              // bytes between the begin of the first sector and that of the array
  size_t sectors_per_cell = 1;  // more than 1 in arrays of more than kMostCells sectors
  std::vector<SectorUse> cells;
};

/// The request to shared memory of an access that needed most passes beyond one for each group of lanes.
struct WorstRequest {
  uint32_t mask = 0;
  uint32_t bytes = 0;  // of a lane
  uint64_t block = 0;  // number of the block in the grid
  unsigned warp = 0;
  int64_t passes = 0, least = 0;
  uintptr_t address[32] = {};  // from the begin of the kernel's shared memory on
};

/// How often each lane used which place of its request, counted from the request's lowest address. Places are pieces of `bytes`; what
/// lies beyond the last column is in it.
struct LaneHeat {
  uint32_t bytes = 0;           // of a column; 0: no request yet
  std::vector<uint32_t> times;  // [lane, column]
};

/// An access of the source, as in a Site.
struct RecordedAccess {
  const void* pc = nullptr;
  Space space = Space::global;
  bool write = false, atomic = false;
  bool copies = false;  // a part of cp.async
  bool engine = false;  // of the copy engine: a copy, not lanes
  bool merged = false;  // an atomic that a compiler executes in one lane for a warp, counted that way
  unsigned width = 0;
  Counts counts;
  unsigned fewest_lanes = 32, most_lanes = 0;
  WorstRequest worst;  // in shared memory
  LaneHeat heat;
};

/// A block of code, entered by lanes of a warp that run together.
struct RecordedCode {
  const void* pc = nullptr;
  int64_t times = 0, lanes = 0;
  unsigned fewest_lanes = 32, most_lanes = 0;
};

/// What a warp does. `value` and `amount` are those of BlockEvent.
enum class Note : uint8_t {
  code,          // blocks of code entered, `amount` of them; `value`: index of the first in Recording::code()
  access,        // a request; `value` is the index of its access
  commit,        // cp.async.commit_group
  wait,          // cp.async.wait_group; `value`: groups left in flight
  follow,        // cp.async.mbarrier.arrive on a barrier, of a phase
  bulk,          // a copy of the copy engine that a barrier waits for, of a phase; `amount`: bytes
  store,         // a copy of the copy engine to global memory; `amount`: bytes
  store_commit,  // cp.async.bulk.commit_group
  store_wait,    // cp.async.bulk.wait_group
  product,       // wgmma
  product_commit,  // wgmma.commit_group
  product_wait,    // wgmma.wait_group
  arrive,          // at a barrier, in a phase
  waited,          // for a phase of a barrier
  all_met,         // __syncthreads
  grid_met,        // grid.sync
};

struct BlockEvent {
  Note what = Note::code;
  uint16_t barrier = 0;  // index in RecordedBlock::barriers
  uint32_t lanes = 0;    // mask
  uint32_t value = 0;    // phase, groups left, or index of an access
  uint32_t amount = 0;   // bytes, or blocks of code
  int line = 0;          // of notes; accesses have their own
};

/// The places that the lanes of one request use.
struct RequestLanes {
  static constexpr uint32_t kElsewhere = ~0U;  // in another array than the first lane
  int array = -1;                              // index in Recording::arrays(); -1: offsets in shared memory
  uint32_t offset[32] = {};                    // bytes; of lanes in the event's mask
};

/// The events of a block of threads by warp, each in the order of that warp.
struct RecordedBlock {
  std::string kernel;
  unsigned grid[3] = {}, block[3] = {};
  uint64_t number = 0;  // of the block in the grid
  std::vector<std::vector<BlockEvent>> warps;
  /// By warp, for its access events in their order: the first kMostSteppedRequests of the first kMostSteppedWarps warps.
  std::vector<std::vector<RequestLanes>> lanes;
  std::vector<std::string> barriers;  // names: "full[1]", "named barrier 2"
  size_t events = 0;
  bool cut = false;  // there were more than kMostBlockEvents
};

class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  /// Returns the recording of this host thread; nullptr if there is none.
  static Recording* current();

  const std::vector<RecordedArray>& arrays() const { return arrays_; }
  const std::vector<RecordedAccess>& accesses() const { return accesses_; }
  const std::vector<RecordedCode>& code() const { return code_; }
  const std::vector<RecordedBlock>& blocks() const { return blocks_; }
  /// Says what there was no room for, a sentence each.
  const std::vector<std::string>& left_out() const { return left_out_; }
  /// Returns the bytes that the recording holds.
  size_t bytes() const;

  /// Ends the recording: later launches are not recorded.
  void finish();

  // What follows is called by the executor.
  void launch_begins(const LaunchRecord& launch);
  void block_begins(const Executor& executor);
  /// Returns whether the events of the running block are kept.
  bool keeps(const Executor& executor) const;
  void is_copy(const void* pc) { copies_.insert(pc); }
  void request(const Executor& executor, unsigned warp, const Site& site, uint32_t bytes, uint32_t mask,
               const uintptr_t* address, const Counts& cost);
  void entered(const Executor& executor, unsigned warp, uintptr_t block, uint32_t mask);
  /// Bytes that the copy engine reads or writes; a reduction writes.
  void engine_range(const Executor& executor, const char* p, size_t bytes, bool write);
  void engine_request(const Site& site, const Counts& cost);
  void note(const Executor& executor, unsigned warp, BlockEvent event);
  /// All threads of the running block, or of the grid, have met.
  void met(const Executor& executor, Note what);
  /// Returns the index of a barrier of the running block; `at` identifies it.
  uint16_t barrier(const void* at, const std::string& name);

 private:
  /// Accesses to a sector by an atomic that a compiler may execute in one lane for a warp.
  struct Mergeable {
    uint32_t sent = 0, requests = 0;
  };
  RecordedArray* array_at(uintptr_t address, uintptr_t* first_sector);
  SectorUse* cell_at(uintptr_t address, RecordedArray** array, size_t* index);
  size_t access_of(const Site& site, uint32_t bytes);
  void add_lanes(const Executor& executor, unsigned warp, Space space, uint32_t mask,
                 const uintptr_t* address);
  void add_heat(RecordedAccess& access, uint32_t bytes, uint32_t mask, const uintptr_t* address);
  void say(const std::string& what);
  void add(const Executor& executor, unsigned warp, const BlockEvent& event);

  bool ended_ = false;
  Recording* outer_;
  std::vector<RecordedArray> arrays_;
  std::vector<std::pair<uintptr_t, uintptr_t>>
      places_;  // of arrays: first sector, and the one behind the last
  std::map<std::pair<std::string, uintptr_t>, size_t> array_of_;
  size_t last_array_ = 0;
  size_t heats_ = 0;
  std::vector<RecordedAccess> accesses_;
  std::map<std::pair<const void*, unsigned>, size_t> access_of_;
  std::vector<bool> one_address_;  // by access
  std::vector<RecordedCode> code_;
  std::map<uintptr_t, size_t> code_of_;
  std::map<std::pair<size_t, std::pair<size_t, size_t>>, Mergeable> mergeable_;  // by access, array and cell
  std::vector<RecordedBlock> blocks_;
  std::set<std::string> kernels_;
  std::set<const void*> copies_;
  std::map<const void*, uint16_t> barriers_;  // of the block whose events are kept
  LaunchRecord launch_;
  bool wanted_ = false;  // events of the launch's first block are
  bool kept_ = false;    // its block runs, or has run: blocks_.back()
  std::vector<std::string> left_out_;
};

}  // namespace klab::simt
