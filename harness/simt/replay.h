// Which executions of an access by the lanes of a warp make one request.
//
// Lanes run one after the other here. Each logs its accesses and the blocks of code that it enters (a block has one way in
// and no branch inside). The logs of a warp are replayed as a GPU runs it: groups of lanes that go together, which part at
// branches and become one group where they come to the same place. The group that is furthest behind goes first: in a
// loop that of the earlier turn, else that whose block is earlier in the code. So lanes that have left a loop wait for
// those still in it, and lanes that took different branches meet behind them (after Diamos et al., "SIMD re-convergence at
// thread frontiers", MICRO 2011). Compilers for GPUs have lanes meet at the immediate post-dominator of a branch: the same
// place wherever branches and loops nest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace klab::simt {

/// The blocks of code that begin a loop, and of each the last block that jumps back to it. Blocks are numbered by address.
using LoopEnds = std::map<uintptr_t, uintptr_t>;

/// Where a lane is in the code: block, turns of the loops around it, and the same for the calls that it is in.
class Path {
 public:
  /// To a block of the function at `depth` calls (from 1); `turn`: calls made in the block that have returned.
  void enter(uintptr_t block, unsigned depth, uint32_t turn, const LoopEnds& ends);
  /// Below 0: lanes on this path go before those on the other; 0: they are at the same place.
  int order(const Path& other) const;

 private:
  struct Loop {
    uintptr_t first, last;
    uint32_t turn;  // times it was jumped back to
  };
  struct Level {
    uintptr_t block = 0;
    uint32_t turn = 0;
    std::vector<Loop> loops;  // the outermost first
  };
  static int order(const Level& a, const Level& b);
  std::vector<Level> levels_;
};

class WarpLog {
 public:
  /// Of one request: site, bytes of a lane, mask of lanes, addresses of 32 lanes.
  using Account = std::function<void(uint16_t, uint32_t, uint32_t, const uintptr_t*)>;

  void entered(unsigned lane, uintptr_t block, unsigned depth, uint32_t turn) {
    logs_[lane].push_back({block, turn, kBlock, uint16_t(depth)});
  }
  void accessed(unsigned lane, uintptr_t address, uint32_t bytes, uint16_t site) {
    logs_[lane].push_back({address, bytes, site, 0});
  }
  size_t length(unsigned lane) const { return logs_[lane].size(); }

  /// Hands on request after request. `going_on`: lanes that will log more before others need to wait for them; the replay
  /// stops where it would have to know what such a lane does next, and keeps the rest.
  void replay(uint32_t going_on, const LoopEnds& ends, const Account& account);

  /// At the beginning of a block of threads.
  void forget();

 private:
  static constexpr uint16_t kBlock = 0xFFFF;
  struct Entry {
    uintptr_t address;  // of the access, or the block's
    uint32_t bytes;     // or the turn
    uint16_t site;      // kBlock: a block is entered
    uint16_t depth;
  };
  struct Group {
    uint32_t lanes = 0;
    bool begins = true;  // no access of its block has been replayed
    Path path;
  };

  bool has_more(unsigned lane) const { return next_[lane] < logs_[lane].size(); }
  const Entry& next(unsigned lane) const { return logs_[lane][next_[lane]]; }
  uint32_t with_more(uint32_t lanes) const;
  /// Of those with more to replay, the one that is furthest behind; nullptr: none.
  Group* first_group();
  /// The group's accesses up to the end of its block. False where a lane that goes on has logged no further.
  bool run_block(Group& group, uint32_t going_on, const Account& account);
  /// On to the next blocks: one group for each.
  void part(Group group, const LoopEnds& ends);
  void join(Group group);
  void drop_read();

  std::array<std::vector<Entry>, 32> logs_;
  std::array<size_t, 32> next_{};
  std::vector<Group> groups_{{.lanes = ~0u, .begins = true, .path = {}}};
};

}  // namespace klab::simt
