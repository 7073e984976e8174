#include "harness/simt/flow.h"

#include <algorithm>

namespace klab::simt {

void Flow::add(uintptr_t from, uintptr_t to) {
  auto& list = next_[from];
  if (std::find(list.begin(), list.end(), to) != list.end()) return;
  list.push_back(to);
  edges_.push_back({from, to});
  for (const uintptr_t block : {from, to}) seen_.try_emplace(block, seen_.size());
  known_ = loops_known_ = false;
}

void Flow::begin_with(const std::vector<Edge>& known, size_t count) {
  if (edges_.size() == begun_with_ && begun_with_ == count) return;
  *this = {};
  for (size_t k = 0; k < count; ++k) add(known[k].from, known[k].to);
  begun_with_ = count;
}

uintptr_t Flow::meets_behind(uintptr_t block, uintptr_t loop) {
  if (loop != kNowhere) {
    if (!loops_known_) find_loops();
    const auto found = meets_in_.find(loop);
    if (found == meets_in_.end()) find_post_dominators(loop);
    const auto& meets = meets_in_[loop];
    const auto in = meets.find(block);
    return in == meets.end() || in->second == kEnd ? loop : in->second;
  }
  if (!known_) find_post_dominators();
  const auto at = meets_.find(block);
  return at != meets_.end() ? at->second : kNowhere;
}

std::set<uintptr_t> Flow::behind(uintptr_t block, const Graph& after) const {
  std::set<uintptr_t> found{block};
  for (std::vector<uintptr_t> open{block}; !open.empty();) {
    const auto list = after.find(open.back());
    open.pop_back();
    if (list == after.end()) continue;
    for (const uintptr_t to : list->second)
      if (found.insert(to).second) open.push_back(to);
  }
  return found;
}

/// Returns the block that substitutes for the function's end when no path from `block` reaches it yet,
/// because threads wait there or are still in a loop. This is the last block of that loop, which jumps back
/// to the first: compilers leave loops there.
uintptr_t Flow::stands_for_an_end(uintptr_t block, const Graph& after) const {
  const auto earlier = [&](uintptr_t a, uintptr_t b) { return seen_.at(a) < seen_.at(b); };
  for (;;) {
    const std::set<uintptr_t> all = behind(block, after);
    const auto leaves =
        std::find_if(all.begin(), all.end(), [&](uintptr_t b) { return !behind(b, after).contains(block); });
    if (leaves != all.end()) {
      block = *leaves;
      continue;
    }
    const uintptr_t first = *std::min_element(all.begin(), all.end(), earlier);
    uintptr_t last = first;
    for (const uintptr_t b : all) {
      const auto list = after.find(b);
      const bool jumps_back =
          list != after.end() && std::ranges::find(list->second, first) != list->second.end();
      if (jumps_back && earlier(last, b)) last = b;
    }
    return last;
  }
}

void Flow::find_post_dominators() {
  known_ = true;
  Graph before, after;
  const auto edge = [&](uintptr_t from, uintptr_t to) {
    before[to].push_back(from);
    after[from].push_back(to);
  };
  for (const auto& [from, list] : next_)
    for (const uintptr_t to : list)
      if (to != kEnd || list.size() == 1) edge(from, to);
  std::set<uintptr_t> ending = behind(kEnd, before);
  for (const auto& [block, order] : seen_)
    while (!ending.contains(block)) {
      edge(stands_for_an_end(block, after), kEnd);
      ending = behind(kEnd, before);
    }
  meets_ = post_dominators(before, after);
}

/// Finds post-dominators within a loop. Every block of the loop leads to its first block, where a turn ends.
void Flow::find_post_dominators(uintptr_t loop) {
  Graph before, after;
  const std::set<uintptr_t>& body = bodies_[loop];
  for (const uintptr_t from : body) {
    const auto ways = next_.find(from);
    if (ways == next_.end()) continue;
    for (const uintptr_t way : ways->second) {
      if (way == kEnd || !body.contains(way)) continue;
      const uintptr_t to = way == loop ? kEnd : way;
      before[to].push_back(from);
      after[from].push_back(to);
    }
  }
  meets_in_[loop] = post_dominators(before, after);
}

/// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed graph.
std::map<uintptr_t, uintptr_t> Flow::post_dominators(Graph& before, Graph& after) {
  std::map<uintptr_t, uintptr_t> found;
  // Postorder from the end.
  std::vector<uintptr_t> order;
  std::map<uintptr_t, size_t> number;
  std::vector<std::pair<uintptr_t, size_t>> stack{{kEnd, 0}};
  number[kEnd] = 0;
  while (!stack.empty()) {
    auto& [block, child] = stack.back();
    const auto& list = before[block];
    if (child < list.size()) {
      const uintptr_t next = list[child++];
      if (number.try_emplace(next, 0).second) stack.emplace_back(next, 0);
      continue;
    }
    number[block] = order.size();
    order.push_back(block);
    stack.pop_back();
  }
  const size_t end = order.size() - 1, unknown = order.size();
  std::vector<size_t> meets(order.size(), unknown);
  meets[end] = end;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = end; k-- > 0;) {
      size_t best = unknown;
      for (const uintptr_t to : after[order[k]]) {
        const auto at = number.find(to);
        if (at == number.end() || meets[at->second] == unknown) continue;
        size_t a = at->second;
        if (best == unknown) {
          best = a;
          continue;
        }
        while (a != best) (a < best ? a : best) = meets[a < best ? a : best];
      }
      if (best == meets[k]) continue;
      meets[k] = best;
      changed = true;
    }
  }
  for (size_t k = 0; k < end; ++k)
    if (meets[k] != unknown) found[order[k]] = order[meets[k]];
  return found;
}

int Flow::loops_around(uintptr_t block) { return int(loops_of(block).size()); }

const std::vector<uintptr_t>& Flow::loops_of(uintptr_t block) {
  if (!loops_known_) find_loops();
  static const std::vector<uintptr_t> none;
  const auto at = loops_.find(block);
  return at == loops_.end() ? none : at->second;
}

bool Flow::in_loop(uintptr_t block, uintptr_t loop) {
  if (!loops_known_) find_loops();
  const auto body = bodies_.find(loop);
  return body != bodies_.end() && body->second.contains(block);
}

/// Finds natural loops. An edge back to a block that is still open in a depth-first search closes a loop. The
/// loop consists of all blocks that reach the edge without passing that block (Aho, Lam, Sethi and Ullman,
/// "Compilers", section 9.6). Loops with the same first block are merged.
void Flow::find_loops() {
  loops_known_ = true;
  loops_.clear();
  meets_in_.clear();
  bodies_.clear();
  Graph before;
  for (const auto& [from, ways] : next_)
    for (const uintptr_t to : ways) before[to].push_back(from);
  std::map<uintptr_t, int> state;  // 1: open, 2: done
  const auto close = [&](uintptr_t from, uintptr_t begin) {
    std::set<uintptr_t>& body = bodies_[begin];
    body.insert(begin);
    std::vector<uintptr_t> left = {from};
    while (!left.empty()) {
      const uintptr_t b = left.back();
      left.pop_back();
      if (!body.insert(b).second) continue;
      for (const uintptr_t p : before[b]) left.push_back(p);
    }
  };
  const auto search = [&](uintptr_t begin) {
    std::vector<std::pair<uintptr_t, size_t>> open = {{begin, 0}};
    state[begin] = 1;
    while (!open.empty()) {
      const uintptr_t at = open.back().first;
      const auto ways = next_.find(at);
      if (ways == next_.end() || open.back().second == ways->second.size()) {
        state[at] = 2;
        open.pop_back();
        continue;
      }
      const uintptr_t to = ways->second[open.back().second++];
      if (to == kEnd) continue;
      if (state[to] == 1) close(at, to);
      if (state[to] == 0) {
        state[to] = 1;
        open.emplace_back(to, 0);
      }
    }
  };
  // Search first from blocks without a predecessor, then from the earliest seen of the rest.
  for (const auto& [block, ways] : next_)
    if (before.find(block) == before.end() && state[block] == 0) search(block);
  for (const auto& [block, ways] : next_)
    if (state[block] == 0) search(block);
  for (const auto& [begin, body] : bodies_)
    for (const uintptr_t b : body) loops_[b].push_back(begin);
  for (auto& [block, list] : loops_)
    std::ranges::stable_sort(list, {}, [&](uintptr_t loop) { return bodies_.at(loop).size(); });
}

}  // namespace klab::simt
