// Counts of one traced run, by static access of the source and by launch.
//
// A request is one execution of a load or store by the lanes of a warp that execute it together (replay.h).
// Its sectors are the distinct pieces of 32 bytes that it touches. Its wavefronts are the passes that shared
// memory needs when 32 banks of 4 bytes each serve one word per pass (accesses of 8 and 16 bytes are served
// by half and quarter warps).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/bus.h"

namespace klab::simt {

/// constant: __constant__ memory, whose cache serves one address of a warp per pass. Its passes are counted
/// as wavefronts.
enum class Space : uint8_t { global, shared, constant };

struct Counts {
  int64_t requests = 0;
  int64_t lanes = 0;          // active lanes, summed over requests
  int64_t bytes = 0;          // requested by lanes
  int64_t sectors = 0;        // global
  int64_t ideal_sectors = 0;  // global: the fewest that hold the distinct bytes of a request
  // global: the fewest that hold the bytes of its active lanes if all were distinct
  int64_t lane_sectors = 0;
  int64_t wavefronts = 0;  // shared, constant
  int64_t ideal_wavefronts = 0;
  int64_t conflicts() const { return wavefronts - ideal_wavefronts; }
  int64_t collisions = 0;  // atomics: lanes of a request beyond the first at each address
  void add(const Counts& o);
};

/// Bits for the instructions of an atomic in machine code: RED, which returns nothing, and ATOM.
inline constexpr uint8_t kReduction = 1, kAtomicResult = 2;

/// One static access.
struct Site {
  const void* pc = nullptr;  // return address of the hook
  Space space = Space::global;
  bool write = false, atomic = false, async = false;
  bool returns = false;     // an atomic whose old value is used; without it GPUs have a reduction
  bool merges = false;      // an atomic that one lane can execute for all lanes with its address
  bool one_address = true;  // all lanes of each block's requests so far had the same address
  uintptr_t block_address = 0;
  uint64_t block = ~uint64_t(0);  // block that block_address belongs to
  unsigned width = 0;             // bytes per lane
  int64_t stride = 0;  // bytes between neighboring lanes in the first request of more than one lane
  bool is_volatile = false;
  Counts counts;
  // Counts of the compiled code (compiled_count.h), if the machine code of its kernel was read.
  bool compiled_known = false;
  uint8_t compiled_widths = 0;   // bit k: instructions of 2^k bytes a lane
  uint8_t compiled_atomics = 0;  // of an atomic: kReduction, kAtomicResult
  Counts compiled;
  /// Resets all counts.
  void clear_counts();
  /// Returns whether the compiler lets one lane do the work of all. Valid after the whole run.
  bool merged() const { return merges && one_address && counts.lanes > counts.requests; }
  /// Returns the counts after merging: one lane per request, without collisions.
  Counts as_merged() const;
};

struct LaunchRecord {
  std::string kernel;
  unsigned grid[3] = {}, block[3] = {};
  size_t dynamic_shared = 0, static_shared = 0;
  int64_t barriers = 0;  // of one block
  // of the thread with the most accesses: a serial part that more threads do not shorten
  int64_t thread_accesses = 0;
  int64_t times = 1;  // equal launches in a row
};

class GridRun;

class Profile {
 public:
  Profile();
  /// Profile of one worker thread; site indexes are shared by all workers.
  explicit Profile(GridRun* numbers);
  /// Returns the index of an access's site. An access that uses several spaces has one site for each.
  uint16_t site(const void* pc, Space space, bool write, bool atomic, bool merges, unsigned width);
  Site& operator[](uint16_t index) { return sites_[index]; }
  const std::vector<Site>& sites() const { return sites_; }
  /// Adds counts of that access from another profile.
  void add(const Site& other);
  /// Scales the counts added since the sites' counts were `before`.
  void scale(const std::vector<Site>& before, double by);
  std::vector<LaunchRecord> launches;
  Bus bus;  // for kernels whose operands are in host memory

 private:
  void grow();
  std::vector<Site> sites_;
  std::vector<uint16_t> table_;  // open addressing; 0 is empty, else index + 1
  size_t entries_ = 0;           // in the table
  GridRun* numbers_ = nullptr;
};

}  // namespace klab::simt
