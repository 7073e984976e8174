#include "harness/simt/flow.h"

#include <algorithm>

namespace klab::simt {

void Flow::add(uintptr_t from, uintptr_t to) {
  auto& list = next_[from];
  if (std::find(list.begin(), list.end(), to) != list.end()) return;
  list.push_back(to);
  for (const uintptr_t block : {from, to}) seen_.try_emplace(block, seen_.size());
  known_ = false;
}

uintptr_t Flow::meets_behind(uintptr_t block) {
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

/// From a block no way leads to an end yet: the threads wait in it, or are still in a loop. The last block of that loop,
/// which jumps back to the first: compilers leave loops there.
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

/// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed graph.
void Flow::find_post_dominators() {
  known_ = true;
  meets_.clear();
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
  // In postorder from the end, backwards.
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
    if (meets[k] != unknown) meets_[order[k]] = order[meets[k]];
}

}  // namespace klab::simt
