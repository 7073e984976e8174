// Counts of one traced run, for each static access of the source and each launch.
//
// A request is a warp's turn at one load or store: the lanes that execute it together (replay.h). Its sectors are the distinct pieces of 32 bytes it touches; its wavefronts the passes that shared
// memory needs, when 32 banks of 4 bytes each serve one word a pass (accesses of 8 and 16 bytes are served by half
// and quarter warps).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/simt/bus.h"

namespace klab::simt {

/// constant: __constant__ memory, whose cache serves one address of a warp in a pass; its passes are counted as wavefronts.
enum class Space : uint8_t { global, shared, constant };

struct Counts {
  int64_t requests = 0;
  int64_t lanes = 0;          // active ones, summed over requests
  int64_t bytes = 0;          // asked for by lanes
  int64_t sectors = 0;        // global
  int64_t ideal_sectors = 0;  // global: as few as hold the distinct bytes of a request
  int64_t lane_sectors = 0;   // global: as few as hold the bytes of its active lanes, if no two were the same
  int64_t wavefronts = 0;     // shared, constant
  int64_t ideal_wavefronts = 0;
  int64_t conflicts() const { return wavefronts - ideal_wavefronts; }
  int64_t collisions = 0;  // atomics: lanes of a request beyond the first at an address
  void add(const Counts& o);
};

/// One static access.
struct Site {
  const void* pc = nullptr;  // return address of the hook
  Space space = Space::global;
  bool write = false, atomic = false, async = false;
  bool merges = false;  // an atomic that one lane can do for all at its address
  bool one_address =
      true;  // all requests of a block had the same address in all lanes, as far as has been seen
  uintptr_t block_address = 0;
  uint64_t block = ~uint64_t(0);  // that had it
  unsigned width = 0;             // bytes per lane
  int64_t stride = 0;  // bytes between neighboring lanes in the first request of more than one lane
  bool is_volatile = false;
  Counts counts;
  // As compiled (compiled_count.h), where the machine code of the kernel that makes it has been read.
  bool compiled_known = false;
  uint8_t compiled_widths = 0;  // bit k: instructions of 2^k bytes a lane
  Counts compiled;
  /// Forgets what has been counted.
  void clear_counts();
  /// Of the whole run: the compiler gives the work of all lanes to one.
  bool merged() const { return merges && one_address && counts.lanes > counts.requests; }
  /// The counts after that: one lane a request, which meets nobody.
  Counts as_merged() const;
};

struct LaunchRecord {
  std::string kernel;
  unsigned grid[3] = {}, block[3] = {};
  size_t dynamic_shared = 0, static_shared = 0;
  int64_t barriers = 0;         // a block's
  int64_t thread_accesses = 0;  // of the thread that makes the most: what no number of others does for it
  int64_t times = 1;            // equal launches in a row
};

class GridRun;

class Profile {
 public:
  Profile();
  /// Of one of the threads that run a launch: sites have the numbers that they have for all of them.
  explicit Profile(GridRun* numbers);
  /// Index of the site of that access. An access whose space changes has one site for each.
  uint16_t site(const void* pc, Space space, bool write, bool atomic, bool merges, unsigned width);
  Site& operator[](uint16_t index) { return sites_[index]; }
  const std::vector<Site>& sites() const { return sites_; }
  /// Adds what has been counted elsewhere of that access.
  void add(const Site& other);
  /// Multiplies what has been counted since the sites' counts were `before`.
  void scale(const std::vector<Site>& before, double by);
  std::vector<LaunchRecord> launches;
  Bus bus;  // for kernels whose operands are on the host

 private:
  void grow();
  std::vector<Site> sites_;
  std::vector<uint16_t> table_;  // open addressing; 0 is empty, else index + 1
  size_t entries_ = 0;           // of the table
  GridRun* numbers_ = nullptr;
};

}  // namespace klab::simt
