// Decides which executions of an access by the lanes of a warp form one request.
//
// Lanes run sequentially here. Each logs its accesses and the blocks of code that it enters (a block has one
// entry and no branch inside). The logs of a warp are then replayed as a GPU would run them: lanes run
// together until they diverge at a branch. Each part runs alone up to the point where their paths reconverge
// (the immediate post-dominator of the branch, see flow.h). GPU compilers arrange the same: Fung et al.,
// "Dynamic warp formation and scheduling for efficient GPU control flow", MICRO 2007, describe the stack that
// does it in hardware. Lanes that leave a loop alone wait behind it, and the others keep reconverging in it
// turn by turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "harness/simt/flow.h"

namespace klab::simt {

/// A place in the code: a block of the function at call depth `depth` (from 1). `turn` counts the calls made
/// in the block that have returned.
struct Place {
  uintptr_t block = 0;  // 0: none
  uint32_t turn = 0;
  uint16_t depth = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

class WarpLog {
 public:
  /// Called for each request: site, bytes per lane, mask of lanes, addresses of 32 lanes. For notes of a recording: kNote plus its
  /// kind, its line, the lanes that have it, and what it holds in place of an address.
  using Account = std::function<void(uint16_t, uint32_t, uint32_t, const uintptr_t*)>;
  /// Called for each block of code that lanes enter together, if it is recorded: the block, the mask of lanes.
  using Entered = std::function<void(uintptr_t, uint32_t)>;
  /// Sites from here on are notes (Note in recording.h), which do not decide which lanes run together.
  static constexpr uint16_t kNote = 0xFF00;

  /// Both append to the lane's log and return the number of entries that have not been replayed.
  size_t entered(unsigned lane, const Place& p) {
    logs_[lane].push_back({p.block, kPlace, p.depth, p.turn});
    return logs_[lane].size();
  }
  size_t accessed(unsigned lane, uintptr_t address, uint32_t bytes, uint16_t site) {
    logs_[lane].push_back({address, site, 0, bytes});
    return logs_[lane].size();
  }

  void noted(unsigned lane, uint8_t kind, uintptr_t what, uint32_t line) {
    logs_[lane].push_back({what, uint16_t(kNote + kind), 0, line});
  }

  /// Replays the logs and passes on each request. `going_on` are lanes that will log more without waiting for
  /// others; where the next step of such a lane matters, the rest is kept. `ended` are lanes whose threads
  /// have ended.
  void replay(uint32_t going_on, uint32_t ended, Flow& flow, const Account& account,
              const Entered* entered = nullptr);

  /// Clears the logs, at the start of a block of threads.
  void forget();

 private:
  static constexpr uint16_t kPlace = 0xFFFF;
  struct Entry {
    uintptr_t address;  // of the access, or the block of the place
    uint16_t site;      // kPlace: enters a place
    uint16_t depth;
    uint32_t bytes;  // or the turn of the place
    Place place() const { return {address, bytes, depth}; }
    bool is_note() const { return site >= kNote && site != kPlace; }
    bool is_like(const Entry& o) const { return site == o.site && depth == o.depth && bytes == o.bytes; }
  };
  /// Lanes that run together, or wait until their parts have reconverged.
  struct Group {
    uint32_t lanes = 0;        // running lanes; in a waiting group, the lanes that have arrived
    std::vector<Place> calls;  // their place in each called function, outermost first
    Place until;               // place where they return to the parent group
    uintptr_t loop = 0;        // loop that `until` is in, for lanes that stay in it; 0: none
    Group* parent = nullptr;
    std::vector<std::unique_ptr<Group>> parts;
  };
  struct Run {  // arguments of replay()
    uint32_t going_on, ended;
    Flow& flow;
    const Account& account;
    const Entered* entered;
  };

  bool has_more(unsigned lane) const { return next_[lane] < logs_[lane].size(); }
  const Entry& next(unsigned lane) const { return logs_[lane][next_[lane]]; }
  uint32_t with_more(uint32_t lanes) const;
  void go(Group& group, const Run& run);
  bool wait_for_parts(Group& group, const Run& run);
  bool run_block(Group& group, const Run& run);
  /// Replays as long as all lanes do the same, as most warps do from beginning to end. For lanes that no
  /// others wait for.
  void run_lockstep(Group& group, const Run& run);
  /// Moves lanes whose next place is the group's end to its parent. Lanes that leave the function or the loop
  /// of that place move to an outer group.
  void arrive(Group& group, const Run& run);
  void leave_loop(Group& group, unsigned lane, const Place& to, const Run& run);
  /// Returns where lanes that diverge after the group's block reconverge; with `loop`, if they stay in it.
  static Place meeting(const Group& group, uintptr_t loop, const Run& run);
  /// Moves all lanes to their next place, or splits them into parts. Returns false if they have to wait.
  bool move_on(Group& group, const Run& run);
  void part(Group& group, std::vector<uint32_t> ways, const Run& run);
  /// Passes on notes at which lanes of the group stand. Returns false if there are none.
  bool read_notes(const Group& group, const Run& run);
  static void enter(Group& group, const Place& place, const Run& run);
  void drop_read();

  std::array<std::vector<Entry>, 32> logs_;
  std::array<size_t, 32> next_{};
  std::unique_ptr<Group> all_;
};

}  // namespace klab::simt
