#include "harness/simt/replay.h"

#include <algorithm>

namespace klab::simt {

void Path::enter(uintptr_t block, unsigned depth, uint32_t turn, const LoopEnds& ends) {
  levels_.resize(depth);
  Level& l = levels_.back();
  l.turn = turn;
  if (turn > 0) return;  // back from a call
  const bool jumps_back = l.block != 0 && block <= l.block;
  l.block = block;
  while (!l.loops.empty() && (block < l.loops.back().first || block > l.loops.back().last))
    l.loops.pop_back();
  if (!jumps_back) return;
  while (!l.loops.empty() && l.loops.back().first > block) l.loops.pop_back();
  if (l.loops.empty() || l.loops.back().first != block) {
    const auto end = ends.find(block);
    l.loops.push_back({block, end != ends.end() ? end->second : block, 0});
  }
  ++l.loops.back().turn;
}

int Path::order(const Level& a, const Level& b) {
  size_t k = 0;
  for (; k < a.loops.size() && k < b.loops.size() && a.loops[k].first == b.loops[k].first; ++k)
    if (a.loops[k].turn != b.loops[k].turn) return a.loops[k].turn < b.loops[k].turn ? -1 : 1;
  // Who is inside of a loop and has not jumped back in it is in its first turn.
  const auto inside = [](uintptr_t block, const Loop& loop) {
    return block >= loop.first && block <= loop.last;
  };
  if (k < a.loops.size() && inside(b.block, a.loops[k])) return 1;
  if (k < b.loops.size() && inside(a.block, b.loops[k])) return -1;
  if (a.block != b.block) return a.block < b.block ? -1 : 1;
  if (a.turn != b.turn) return a.turn < b.turn ? -1 : 1;
  return 0;
}

int Path::order(const Path& other) const {
  for (size_t k = 0; k < levels_.size() && k < other.levels_.size(); ++k)
    if (const int o = order(levels_[k], other.levels_[k]); o != 0) return o;
  // In a call that the other has not made yet.
  return levels_.size() == other.levels_.size() ? 0 : levels_.size() < other.levels_.size() ? -1 : 1;
}

uint32_t WarpLog::with_more(uint32_t lanes) const {
  uint32_t mask = 0;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto i = unsigned(__builtin_ctz(rest));
    mask |= uint32_t(has_more(i)) << i;
  }
  return mask;
}

WarpLog::Group* WarpLog::first_group() {
  Group* first = nullptr;
  int order = 0;
  for (Group& g : groups_) {
    if (first != nullptr) order = g.path.order(first->path);
    if (first == nullptr || order < 0 || (order == 0 && !g.begins && first->begins)) first = &g;
  }
  return first;
}

bool WarpLog::run_block(Group& group, uint32_t going_on, const Account& account) {
  uintptr_t address[32];
  for (;;) {
    if ((group.lanes & going_on & ~with_more(group.lanes)) != 0) return false;
    uint32_t together = 0;
    uint16_t site = 0;
    uint32_t bytes = 0;
    for (uint32_t rest = group.lanes; rest != 0; rest &= rest - 1) {
      const auto i = unsigned(__builtin_ctz(rest));
      if (!has_more(i) || next(i).site == kBlock) continue;
      const Entry& e = next(i);
      if (together == 0) {
        site = e.site;
        bytes = e.bytes;
      }
      // One instruction is two sites where it reads shared memory for one lane and global memory for another.
      if (e.site != site || e.bytes != bytes) continue;
      together |= 1u << i;
      address[i] = e.address;
    }
    if (together == 0) return true;
    for (uint32_t rest = together; rest != 0; rest &= rest - 1) ++next_[unsigned(__builtin_ctz(rest))];
    group.begins = false;
    account(site, bytes, together, address);
  }
}

void WarpLog::join(Group group) {
  for (Group& g : groups_)
    if (g.begins == group.begins && g.path.order(group.path) == 0) {
      g.lanes |= group.lanes;
      return;
    }
  groups_.push_back(std::move(group));
}

void WarpLog::part(Group group, const LoopEnds& ends) {
  const uint32_t more = with_more(group.lanes);
  // Lanes that wait or have ended stay where they are.
  if (const uint32_t rest = group.lanes & ~more; rest != 0) join({rest, group.begins, group.path});
  for (uint32_t left = more; left != 0;) {
    const Entry to = next(unsigned(__builtin_ctz(left)));
    Group parted{.lanes = 0, .begins = true, .path = {}};
    for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
      const auto i = unsigned(__builtin_ctz(rest));
      const Entry& e = next(i);
      if (e.address != to.address || e.depth != to.depth || e.bytes != to.bytes) continue;
      parted.lanes |= 1u << i;
      ++next_[i];
    }
    left &= ~parted.lanes;
    parted.path = left == 0 ? std::move(group.path) : group.path;
    parted.path.enter(to.address, to.depth, to.bytes, ends);
    join(std::move(parted));
  }
}

void WarpLog::replay(uint32_t going_on, const LoopEnds& ends, const Account& account) {
  std::vector<Group> parked;  // of lanes that wait or have ended: nothing of theirs is left
  for (;;) {
    Group* const first = first_group();
    if (first == nullptr || !run_block(*first, going_on, account)) break;
    Group group = std::move(*first);
    *first = std::move(groups_.back());
    groups_.pop_back();
    if (with_more(group.lanes) == 0)
      parked.push_back(std::move(group));
    else
      part(std::move(group), ends);
  }
  for (Group& g : parked) join(std::move(g));
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
  groups_.assign(1, {.lanes = ~0u, .begins = true, .path = {}});
}

}  // namespace klab::simt
