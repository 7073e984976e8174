#include "harness/simt/replay.h"

#include <algorithm>

namespace klab::simt {
namespace {

/// Calls f with the number of each lane in the mask.
template <class F>
void each_lane(uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(unsigned(__builtin_ctz(mask)));
}

}  // namespace

uint32_t WarpLog::with_more(uint32_t lanes) const {
  uint32_t mask = 0;
  each_lane(lanes, [&](unsigned i) { mask |= uint32_t(has_more(i)) << i; });
  return mask;
}

/// Replays the group's accesses within its block. Returns false if a running lane's log ends here.
bool WarpLog::run_block(Group& group, const Run& run) {
  uintptr_t address[32];
  for (;;) {
    if ((group.lanes & run.going_on & ~with_more(group.lanes)) != 0) return false;
    if (read_notes(group, run)) continue;
    uint32_t together = 0;
    uint16_t site = 0;
    uint32_t bytes = 0;
    each_lane(group.lanes, [&](unsigned i) {
      if (!has_more(i) || next(i).site == kPlace) return;
      const Entry& e = next(i);
      if (together == 0) {
        site = e.site;
        bytes = e.bytes;
      }
      // An instruction has two sites if some lanes read shared memory and others global memory.
      if (e.site != site || e.bytes != bytes) return;
      together |= 1u << i;
      address[i] = e.address;
    });
    if (together == 0) return true;
    each_lane(together, [&](unsigned i) { ++next_[i]; });
    run.account(site, bytes, together, address);
  }
}

void WarpLog::run_lockstep(Group& group, const Run& run) {
  unsigned lanes[32];
  const Entry* at[32];
  unsigned count = 0;
  size_t length = ~size_t(0);
  each_lane(group.lanes, [&](unsigned i) {
    lanes[count] = i;
    at[count++] = logs_[i].data() + next_[i];
    length = std::min(length, logs_[i].size() - next_[i]);
  });
  uintptr_t address[32];
  size_t k = 0;
  for (; k < length; ++k) {
    const Entry& first = at[0][k];
    bool alike = true;
    uintptr_t apart = 0;
    for (unsigned i = 0; i < count; ++i) {
      const Entry& e = at[i][k];
      alike &= e.is_like(first);
      apart |= e.address ^ first.address;
      address[lanes[i]] = e.address;
    }
    if (!alike || (first.site == kPlace && apart != 0)) break;
    if (first.site == kPlace)
      enter(group, first.place(), run);
    else
      run.account(first.site, first.bytes, group.lanes, address);
  }
  for (unsigned i = 0; i < count; ++i) next_[lanes[i]] += k;
}

bool WarpLog::read_notes(const Group& group, const Run& run) {
  uintptr_t what[32];
  bool any = false;
  for (uint32_t left = group.lanes; left != 0;) {
    uint32_t together = 0;
    const Entry* first = nullptr;
    each_lane(left, [&](unsigned i) {
      if (!has_more(i) || !next(i).is_note()) {
        left &= ~(1u << i);
        return;
      }
      if (first == nullptr) first = &next(i);
      if (!next(i).is_like(*first)) return;
      together |= 1u << i;
      what[i] = next(i).address;
    });
    if (together == 0) break;
    run.account(first->site, first->bytes, together, what);
    each_lane(together, [&](unsigned i) { ++next_[i]; });
    left &= ~together;
    any = true;
  }
  return any;
}

void WarpLog::enter(Group& group, const Place& place, const Run& run) {
  group.calls.resize(place.depth);
  group.calls.back() = place;
  if (run.entered != nullptr) (*run.entered)(place.block, group.lanes);
}

Place WarpLog::meeting(const Group& group, uintptr_t loop, const Run& run) {
  if (group.calls.empty()) return {};
  const auto depth = uint16_t(group.calls.size());
  const uintptr_t block = run.flow.meets_behind(group.calls.back().block, loop);
  if (block == Flow::kEnd && depth > 1)
    return {group.calls[depth - 2].block, group.calls[depth - 2].turn + 1, uint16_t(depth - 1)};
  return block != Flow::kEnd && block != Flow::kNowhere ? Place{block, 0, depth} : Place{};
}

/// Moves a lane to the reconvergence point behind the loop, with the lanes of the innermost group around it
/// that is not in the loop.
void WarpLog::leave_loop(Group& group, unsigned lane, const Place& to, const Run& run) {
  const uint32_t bit = 1u << lane;
  group.lanes &= ~bit;
  Group* out = group.parent;
  while (out->loop != 0 && out->until.depth == to.depth && !run.flow.in_loop(to.block, out->loop))
    out = out->parent;
  const Place until = meeting(group, out->loop, run);
  // Join a part that has the same reconvergence point.
  Group* const of = out->until == until && until.block != 0 ? out->parent : out;
  if (to == until) {
    of->lanes |= bit;
    return;
  }
  for (auto& p : of->parts)
    if (p->parts.empty() && p->calls == group.calls && p->until == until && p.get() != &group &&
        p->lanes != 0 && with_more(p->lanes) == p->lanes &&
        next(unsigned(__builtin_ctz(p->lanes))).place() == to) {
      p->lanes |= bit;
      return;
    }
  of->parts.push_back(std::make_unique<Group>(Group{bit, group.calls, until, out->loop, of, {}}));
}

void WarpLog::arrive(Group& group, const Run& run) {
  if (group.until.block == 0) return;
  each_lane(with_more(group.lanes), [&](unsigned i) {
    const Place to = next(i).place();
    if (to == group.until) {
      group.parent->lanes |= 1u << i;
      group.lanes &= ~(1u << i);
    } else if (to.depth < group.until.depth) {
      // The lane left the function in which the others reconverge. It runs alone until an outer reconvergence
      // point.
      Group* out = group.parent;
      while (out->parent != nullptr && to.depth < out->until.depth) out = out->parent;
      const Place until = out->parts.front()->until.depth <= to.depth ? out->parts.front()->until : Place{};
      auto alone = std::make_unique<Group>(Group{1u << i, group.calls, until, 0, out, {}});
      group.lanes &= ~(1u << i);
      for (auto& p : out->parts)
        if (p->parts.empty() && p->calls == alone->calls && p->until == alone->until && p.get() != &group &&
            p->lanes != 0 && with_more(p->lanes) == p->lanes &&
            next(unsigned(__builtin_ctz(p->lanes))).place() == to) {
          p->lanes |= alone->lanes;
          return;
        }
      out->parts.push_back(std::move(alone));
    } else if (group.loop != 0 && to.depth == group.until.depth && !run.flow.in_loop(to.block, group.loop)) {
      leave_loop(group, i, to, run);
    }
  });
}

void WarpLog::part(Group& group, std::vector<uint32_t> ways, const Run& run) {
  // Find the innermost loop in which some lanes stay. Lanes that leave it split from all of those, and join
  // them behind it.
  const auto depth = uint16_t(group.calls.size());
  const auto leaves = [&](uint32_t way, uintptr_t loop) {
    const auto lane = unsigned(__builtin_ctz(way));
    if (!has_more(lane)) return false;
    const Place to = next(lane).place();
    return to.depth < depth || (to.depth == depth && !run.flow.in_loop(to.block, loop));
  };
  uintptr_t loop = 0;
  if (!group.calls.empty())
    for (const uintptr_t around : run.flow.loops_of(group.calls.back().block)) {
      std::vector<uint32_t> leaving;
      uint32_t staying = 0;
      for (const uint32_t way : ways)
        if (leaves(way, around))
          leaving.push_back(way);
        else
          staying |= way;
      if (staying == 0) continue;
      if (leaving.empty()) {
        loop = around;
        break;
      }
      ways = leaving;
      ways.insert(ways.begin(), staying);
    }
  const Place until = meeting(group, loop, run);
  // A group that diverges again before the same reconvergence point adds parts to its parent instead.
  const bool beside = group.parent != nullptr && until == group.until;
  Group& of = beside ? *group.parent : group;
  group.lanes = beside ? ways[0] : 0;
  for (size_t k = beside ? 1 : 0; k < ways.size(); ++k)
    of.parts.push_back(std::make_unique<Group>(Group{ways[k], group.calls, until, loop, &of, {}}));
}

bool WarpLog::move_on(Group& group, const Run& run) {
  const uint32_t more = with_more(group.lanes);
  if (more == 0) return false;
  std::vector<uint32_t> ways;
  // Lanes that wait for others have no next place yet.
  if (const uint32_t waiting = group.lanes & ~more; waiting != 0) ways.push_back(waiting);
  const Place first = next(unsigned(__builtin_ctz(more))).place();
  uint32_t same = 0;
  each_lane(more, [&](unsigned i) { same |= uint32_t(next(i).place() == first) << i; });
  if (same == group.lanes) {
    each_lane(same, [&](unsigned i) { ++next_[i]; });
    enter(group, first, run);
    return true;
  }
  for (uint32_t left = more; left != 0;) {
    const Place to = next(unsigned(__builtin_ctz(left))).place();
    uint32_t way = 0;
    each_lane(left, [&](unsigned i) { way |= uint32_t(next(i).place() == to) << i; });
    ways.push_back(way);
    left &= ~way;
  }
  part(group, ways, run);
  return true;
}

/// Replays the parts. Returns true when all have reconverged or ended.
bool WarpLog::wait_for_parts(Group& group, const Run& run) {
  for (size_t k = 0; k < group.parts.size(); ++k) go(*group.parts[k], run);  // parts may be added in the loop
  std::erase_if(group.parts, [](const auto& p) { return p->lanes == 0 && p->parts.empty(); });
  return group.parts.empty();
}

void WarpLog::go(Group& group, const Run& run) {
  for (;;) {
    if (!group.parts.empty() && !wait_for_parts(group, run)) return;
    group.lanes &= ~(run.ended & ~with_more(group.lanes));
    if (group.lanes == 0) return;
    if (group.parent == nullptr) run_lockstep(group, run);
    if (!run_block(group, run)) return;
    group.lanes &= ~(run.ended & ~with_more(group.lanes));
    arrive(group, run);
    if (group.lanes == 0 || !move_on(group, run)) return;
  }
}

void WarpLog::replay(uint32_t going_on, uint32_t ended, Flow& flow, const Account& account,
                     const Entered* entered) {
  if (all_ == nullptr) all_ = std::make_unique<Group>(Group{~0u, {}, {}, 0, nullptr, {}});
  go(*all_, {going_on, ended, flow, account, entered});
  drop_read();
}

void WarpLog::drop_read() {
  for (unsigned i = 0; i < 32; ++i) {
    if (next_[i] == 0) continue;
    logs_[i].erase(logs_[i].begin(), logs_[i].begin() + std::ptrdiff_t(next_[i]));
    next_[i] = 0;
  }
}

void WarpLog::forget() {
  for (auto& log : logs_) log.clear();
  next_ = {};
  all_.reset();
}

}  // namespace klab::simt
