// Which executions of an access by the lanes of a warp make one request.
//
// Lanes run one after the other here. Each logs its accesses and the blocks of code that it enters (a block has one way in
// and no branch inside). The logs of a warp are then replayed as a GPU runs it: lanes go together until they part at a
// branch, each part goes on by itself to where their ways meet (the immediate post-dominator of the branch, see flow.h),
// and there they are together again. That is what compilers for GPUs arrange: Fung et al., "Dynamic warp formation and
// scheduling for efficient GPU control flow", MICRO 2007, describe the stack that does it in hardware. Lanes that leave a loop
// by themselves wait behind it, and the others go on meeting in it turn by turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "harness/simt/flow.h"

namespace klab::simt {

/// A place in the code: a block of the function at `depth` calls (from 1). `turn`: calls made in the block that have returned.
struct Place {
  uintptr_t block = 0;  // 0: none
  uint32_t turn = 0;
  uint16_t depth = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

class WarpLog {
 public:
  /// Of one request: site, bytes of a lane, mask of lanes, addresses of 32 lanes.
  using Account = std::function<void(uint16_t, uint32_t, uint32_t, const uintptr_t*)>;

  /// Both return how much of the lane's log has not been replayed yet.
  size_t entered(unsigned lane, const Place& p) {
    logs_[lane].push_back({p.block, kPlace, p.depth, p.turn});
    return logs_[lane].size();
  }
  size_t accessed(unsigned lane, uintptr_t address, uint32_t bytes, uint16_t site) {
    logs_[lane].push_back({address, site, 0, bytes});
    return logs_[lane].size();
  }

  /// Hands on request after request. `going_on`: lanes that will log more without waiting for others; where it matters what
  /// such a lane does next, the rest is kept. `ended`: lanes whose threads have ended.
  void replay(uint32_t going_on, uint32_t ended, Flow& flow, const Account& account);

  /// At the beginning of a block of threads.
  void forget();

 private:
  static constexpr uint16_t kPlace = 0xFFFF;
  struct Entry {
    uintptr_t address;  // of the access, or the place's block
    uint16_t site;      // kPlace: a place is entered
    uint16_t depth;
    uint32_t bytes;  // or the place's turn
    Place place() const { return {address, bytes, depth}; }
    bool is_like(const Entry& o) const { return site == o.site && depth == o.depth && bytes == o.bytes; }
  };
  /// Lanes that go together, or wait until their parts are together again.
  struct Group {
    uint32_t lanes = 0;        // that go; of a group that waits those that have arrived
    std::vector<Place> calls;  // where they are, from the outermost call to the innermost
    Place until;               // where they leave the group for its parent
    uintptr_t loop = 0;        // that the meeting is in, for those that stay in it; 0: none
    Group* parent = nullptr;
    std::vector<std::unique_ptr<Group>> parts;
  };
  struct Run {  // of replay()
    uint32_t going_on, ended;
    Flow& flow;
    const Account& account;
  };

  bool has_more(unsigned lane) const { return next_[lane] < logs_[lane].size(); }
  const Entry& next(unsigned lane) const { return logs_[lane][next_[lane]]; }
  uint32_t with_more(uint32_t lanes) const;
  void go(Group& group, const Run& run);
  bool wait_for_parts(Group& group, const Run& run);
  bool run_block(Group& group, const Run& run);
  /// As far as all lanes have done the same: what most warps do from beginning to end. For lanes that nobody waits for.
  void run_together(Group& group, const Run& run);
  /// Lanes whose next place is where their group ends leave it for its parent, and those that leave function or loop of that meeting
  /// for an outer one.
  void arrive(Group& group, const Run& run);
  void leave_loop(Group& group, unsigned lane, const Place& to, const Run& run);
  /// Where lanes that part behind the group's block meet; with `loop` if they stay in it.
  static Place meeting(const Group& group, uintptr_t loop, const Run& run);
  /// All lanes to the next place, or into parts. False when they have to wait.
  bool move_on(Group& group, const Run& run);
  void part(Group& group, std::vector<uint32_t> ways, const Run& run);
  void enter(Group& group, const Place& place);
  void drop_read();

  std::array<std::vector<Entry>, 32> logs_;
  std::array<size_t, 32> next_{};
  std::unique_ptr<Group> all_;
};

}  // namespace klab::simt
