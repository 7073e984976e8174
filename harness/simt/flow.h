// Which blocks of code follow which, as seen while kernels run, and where ways that part meet again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace klab::simt {

/// Blocks are named by an address; each belongs to one function.
class Flow {
 public:
  struct Edge {
    uintptr_t from = 0, to = 0;
    friend auto operator<=>(const Edge&, const Edge&) = default;
  };
  static constexpr uintptr_t kEnd = ~uintptr_t(0);  // the end of the function
  static constexpr uintptr_t kNowhere = 0;

  /// `to` was entered after `from`, kEnd when the function was left.
  void follows(uintptr_t from, uintptr_t to) {
    Edge& seen = recent_[(from ^ to >> 3) % recent_.size()];
    if (seen.from == from && seen.to == to) return;
    seen = {from, to};
    add(from, to);
  }
  /// Where lanes that part behind `block` meet: its immediate post-dominator. A function's end that is one of several ways
  /// does not count, since lanes that leave there need not be waited for. kNowhere when no way leads to an end.
  ///
  /// With `loop`, which the block must be in: where those meet that stay in that loop for this turn, at the latest where its next
  /// turn begins. Who leaves it is not waited for: compilers for GPUs take such lanes out of the meetings in the loop (BREAK in
  /// machine code since Volta) and let them wait behind it.
  uintptr_t meets_behind(uintptr_t block, uintptr_t loop = kNowhere);
  /// The loops that the block is in, by where they begin, the innermost first.
  const std::vector<uintptr_t>& loops_of(uintptr_t block);
  bool in_loop(uintptr_t block, uintptr_t loop);
  /// How many loops of its function the block is in, as far as they have been seen.
  int loops_around(uintptr_t block);

  /// Knows the first `count` of these, which a later call has as well, and nothing else.
  void begin_with(const std::vector<Edge>& known, size_t count);
  /// What has been seen since, in the order of first sight.
  std::vector<Edge> news() const { return {edges_.begin() + std::ptrdiff_t(begun_with_), edges_.end()}; }

 private:
  using Graph = std::map<uintptr_t, std::vector<uintptr_t>>;

  void add(uintptr_t from, uintptr_t to);
  void find_post_dominators();
  void find_post_dominators(uintptr_t loop);
  static std::map<uintptr_t, uintptr_t> post_dominators(Graph& before, Graph& after);
  void find_loops();
  std::set<uintptr_t> behind(uintptr_t block, const Graph& after) const;
  uintptr_t stands_for_an_end(uintptr_t block, const Graph& after) const;

  std::array<Edge, 1024> recent_{};
  Graph next_;
  std::map<uintptr_t, size_t> seen_;  // as the how many-th
  std::map<uintptr_t, uintptr_t> meets_;
  std::map<uintptr_t, std::map<uintptr_t, uintptr_t>> meets_in_;  // by loop
  std::map<uintptr_t, std::set<uintptr_t>> bodies_;               // of loops, by where they begin
  std::map<uintptr_t, std::vector<uintptr_t>> loops_;
  bool known_ = false, loops_known_ = false;
  std::vector<Edge> edges_;  // all, in the order of first sight
  size_t begun_with_ = 0;    // of them, by begin_with()
};

/// What a kernel's blocks begin with: what those before have seen. So that it does not depend on which of them run beside each
/// other, what a block has seen is known from the next wave on: waves are the first block, the second, two, four, and so on.
class KnownFlow {
 public:
  /// Whether a wave begins with that block: how many come before it.
  static bool begins_wave(uint64_t before) { return (before & (before - 1)) == 0; }
  /// What a block has seen; blocks in their order.
  void add(const std::vector<Flow::Edge>& news) {
    for (const Flow::Edge& e : news)
      if (all_.insert(e).second) edges_.push_back(e);
  }
  /// A wave begins: what has been added until now is known to its blocks.
  void begin_wave() { known_ = edges_.size(); }
  const std::vector<Flow::Edge>& edges() const { return edges_; }
  size_t known() const { return known_; }

 private:
  std::vector<Flow::Edge> edges_;
  std::set<Flow::Edge> all_;
  size_t known_ = 0;
};

}  // namespace klab::simt
