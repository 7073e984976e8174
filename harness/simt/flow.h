// Records which blocks of code follow which while kernels run, and computes where diverging paths reconverge.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace klab::simt {

/// Blocks are named by an address. Each belongs to one function.
class Flow {
 public:
  struct Edge {
    uintptr_t from = 0, to = 0;
    friend auto operator<=>(const Edge&, const Edge&) = default;
  };
  static constexpr uintptr_t kEnd = ~uintptr_t(0);  // the end of the function
  static constexpr uintptr_t kNowhere = 0;

  /// Records that `to` was entered after `from`. `to` is kEnd when the function was left.
  void follows(uintptr_t from, uintptr_t to) {
    Edge& seen = recent_[(from ^ to >> 3) % recent_.size()];
    if (seen.from == from && seen.to == to) return;
    seen = {from, to};
    add(from, to);
  }
  /// Returns where lanes that diverge after `block` reconverge: its immediate post-dominator. A path that
  /// leaves the function is ignored if there are others, since lanes that exit need not be waited for.
  /// Returns kNowhere if no path leads to an end.
  ///
  /// With `loop`, which must contain the block, returns where the lanes that stay in that loop for this turn
  /// reconverge, at the latest where its next turn begins. Lanes that leave the loop are not waited for: GPU
  /// compilers take such lanes out of the loop's reconvergence points (BREAK in machine code since Volta) and
  /// let them wait behind the loop.
  uintptr_t meets_behind(uintptr_t block, uintptr_t loop = kNowhere);
  /// Returns the loops that contain the block, named by their first block, innermost first.
  const std::vector<uintptr_t>& loops_of(uintptr_t block);
  bool in_loop(uintptr_t block, uintptr_t loop);
  /// Returns how many loops of its function contain the block, as far as seen.
  int loops_around(uintptr_t block);

  /// Replaces the known edges with the first `count` of `known`. A later call passes the same edges as a
  /// prefix.
  void begin_with(const std::vector<Edge>& known, size_t count);
  /// Returns the edges first seen since begin_with(), in that order.
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
  std::map<uintptr_t, size_t> seen_;  // order in which blocks were first seen
  std::map<uintptr_t, uintptr_t> meets_;
  std::map<uintptr_t, std::map<uintptr_t, uintptr_t>> meets_in_;  // by loop
  std::map<uintptr_t, std::set<uintptr_t>> bodies_;               // blocks of each loop, by its first block
  std::map<uintptr_t, std::vector<uintptr_t>> loops_;
  bool known_ = false, loops_known_ = false;
  std::vector<Edge> edges_;  // all edges, in the order first seen
  size_t begun_with_ = 0;    // number of edges given to begin_with()
};

/// The edges that a kernel's blocks start with: those that earlier blocks have seen. A block's edges become
/// known at the next wave, so the outcome does not depend on which blocks run concurrently. Waves are the
/// first block, the second, two, four, and so on.
class KnownFlow {
 public:
  /// Returns whether a wave begins with the block that has `before` blocks before it.
  static bool begins_wave(uint64_t before) { return (before & (before - 1)) == 0; }
  /// Adds the edges that a block has seen. Blocks must be added in order.
  void add(const std::vector<Flow::Edge>& news) {
    for (const Flow::Edge& e : news)
      if (all_.insert(e).second) edges_.push_back(e);
  }
  /// Begins a wave: all edges added until now are known to its blocks.
  void begin_wave() { known_ = edges_.size(); }
  const std::vector<Flow::Edge>& edges() const { return edges_; }
  size_t known() const { return known_; }

 private:
  std::vector<Flow::Edge> edges_;
  std::set<Flow::Edge> all_;
  size_t known_ = 0;
};

}  // namespace klab::simt
