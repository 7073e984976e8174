#include "harness/simt/cluster.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "harness/simt/modules.h"
#include "harness/simt/recording.h"
#include "harness/simt/trace.h"

namespace klab::simt {
namespace {

constexpr size_t kAlign = 1024;   // of swizzled tiles
constexpr size_t kBehind = 4096;  // unused bytes behind each kept piece

}  // namespace

Cluster::Cluster(Executor& executor, const unsigned (&size)[3], bool traced)
    : executor_(executor), size_{size[0], size[1], size[2]}, blocks_(size_t(size[0]) * size[1] * size[2]) {
  find_ranges();
  for (unsigned rank = 0; rank < blocks(); ++rank) {
    ClusterBlock& block = blocks_[rank];
    if (traced) block.trace = &trace_of_rank(rank);
    block.lanes.resize(executor.threads());
    for (const SharedRange& r : ranges_) {
      const size_t before = reinterpret_cast<uintptr_t>(r.live) % kAlign;
      auto* p = static_cast<char*>(
          std::aligned_alloc(kAlign, (before + r.bytes + kBehind + kAlign - 1) / kAlign * kAlign));
      if (p == nullptr) throw Error("cudaErrorMemoryAllocation", "no memory for the blocks of a cluster");
      block.kept.push_back(p + before);
    }
  }
}

Cluster::~Cluster() {
  for (const ClusterBlock& block : blocks_)
    for (size_t k = 0; k < block.kept.size(); ++k)
      std::free(block.kept[k] - reinterpret_cast<uintptr_t>(ranges_[k].live) % kAlign);
}

/// The kernel's static variables, as far as they are known, and the launch's dynamic memory.
void Cluster::find_ranges() {
  const Executor& e = executor_;
  const size_t dynamic = e.launch->shared_bytes;
  if (dynamic > 0) ranges_.push_back({e.dynamic_shared, dynamic});
  if (e.static_shared_bytes == 0) return;
  std::vector<SharedRange> fixed;
  const std::vector<SharedVariable> variables = shared_variables_of(e.launch->kernel);
  if (variables.empty()) fixed.push_back({e.static_shared, e.static_shared_bytes});
  for (const SharedVariable& v : variables) {
    char* const at = e.static_shared + v.offset;
    if (!fixed.empty() && at <= fixed.back().live + fixed.back().bytes)
      fixed.back().bytes = std::max(fixed.back().bytes, size_t(at - fixed.back().live) + v.bytes);
    else
      fixed.push_back({at, v.bytes});
  }
  // Dynamic memory of a program is a variable too.
  for (const SharedRange& r : fixed) {
    const size_t arena = e.arena != nullptr ? size_t(e.arena - r.live) : r.bytes;
    if (arena >= r.bytes) {
      ranges_.push_back(r);
      continue;
    }
    if (arena > 0) ranges_.push_back({r.live, arena});
    if (arena + kProgramArena < r.bytes)
      ranges_.push_back({e.arena + kProgramArena, r.bytes - arena - kProgramArena});
  }
}

Cluster::Place Cluster::peer_at(const void* p) const {
  const auto* c = static_cast<const char*>(p);
  for (unsigned rank = 0; rank < blocks(); ++rank) {
    if (rank == rank_) continue;
    for (size_t k = 0; k < ranges_.size(); ++k) {
      const auto off = size_t(c - blocks_[rank].kept[k]);
      if (off >= ranges_[k].bytes + kBehind) continue;
      return {int(rank), ranges_[k].live + off, off < ranges_[k].bytes ? ranges_[k].bytes - off : 0};
    }
  }
  return {};
}

char* Cluster::kept_at(const void* own, unsigned rank) const {
  const auto* c = static_cast<const char*>(own);
  for (size_t k = 0; k < ranges_.size(); ++k)
    if (const auto off = size_t(c - ranges_[k].live); off < ranges_[k].bytes)
      return blocks_[rank].kept[k] + off;
  return nullptr;
}

char* Cluster::at_rank(const void* own, unsigned rank) const {
  char* const kept = kept_at(own, rank);
  return rank == rank_ && kept != nullptr ? static_cast<char*>(const_cast<void*>(own)) : kept;
}

uint32_t Cluster::threads() const { return executor_.threads() * blocks(); }

void Cluster::arrive(bool release, const char* file, int line) {
  Barrier& b = barrier_;
  b.next.resize(threads(), 0);
  uint32_t& next = b.next[rank_ * executor_.threads() + executor_.lane->thread];
  if (next > b.phase) {
    executor_.report({.kind = Kind::barrier_misuse,
                      .file = file,
                      .line = line,
                      .text = "barrier.cluster.arrive of a thread that has arrived already: "
                              "barrier.cluster.wait must come between"});
    return;
  }
  next = b.phase + 1;
  if (executor_.trace != nullptr)
    executor_.trace->note(Note::arrive, line, b.phase, 0, &b, "cluster's barrier");
  if (release && executor_.trace != nullptr) b.open.merge(executor_.trace->released().seen_by(rank_, 0));
  ++b.arrived;
  moved = true;
  end_phase_if_over();
}

void Cluster::wait(const char* file, int line) {
  Barrier& b = barrier_;
  b.next.resize(threads(), 0);
  const uint32_t next = b.next[rank_ * executor_.threads() + executor_.lane->thread];
  if (next == 0) {
    executor_.abandon({.kind = Kind::barrier_misuse,
                       .file = file,
                       .line = line,
                       .text = "barrier.cluster.wait of a thread that has not arrived: "
                               "barrier.cluster.arrive must come first"});
  }
  while (b.phase < next) executor_.wait_until_woken(&b, "barrier.cluster.wait", file, line);
  b.waited.resize(threads(), 0);
  b.waited[rank_ * executor_.threads() + executor_.lane->thread] = next;
  if (executor_.trace != nullptr) {
    executor_.trace->acquired(b.over.seen_by(0, rank_));
    executor_.trace->note(Note::waited, line, next, 0, &b, "cluster's barrier");
  }
}

uint32_t Cluster::coming_phase() const {
  const size_t me = rank_ * executor_.threads() + executor_.lane->thread;
  return std::max(barrier_.phase, me < barrier_.next.size() ? barrier_.next[me] : 0);
}

uint32_t Cluster::waited() const {
  const size_t me = rank_ * executor_.threads() + executor_.lane->thread;
  return me < barrier_.waited.size() ? barrier_.waited[me] : 0;
}

void Cluster::thread_ended(const Lane& lane) {
  Barrier& b = barrier_;
  b.next.resize(threads(), 0);
  ++(b.next[rank_ * executor_.threads() + lane.thread] > b.phase ? b.gone_behind : b.gone);
  end_phase_if_over();
}

/// Threads that have ended need not arrive (PTX manual, "barrier.cluster").
void Cluster::end_phase_if_over() {
  Barrier& b = barrier_;
  if (b.arrived == 0 || b.arrived + b.gone < threads()) return;
  ++b.phase;
  b.arrived = 0;
  b.gone += std::exchange(b.gone_behind, 0);
  b.over = std::exchange(b.open, {});
  moved = true;
  executor_.progressed();
  executor_.wake(&b);
}

std::string Cluster::state_of_barrier() const {
  std::string text = ": " + std::to_string(barrier_.arrived) + " of the cluster's " +
                     std::to_string(threads()) + " threads have arrived";
  if (barrier_.gone > 0) text += ", " + std::to_string(barrier_.gone) + " have ended";
  return text;
}

bool Cluster::wake(const void* what) {
  bool any = false;
  for (unsigned rank = 0; rank < blocks(); ++rank) {
    if (rank == rank_ || !blocks_[rank].begun || blocks_[rank].ended) continue;
    for (Lane& l : blocks_[rank].lanes) {
      if (l.state != State::blocked || l.slot != what) continue;
      l.state = State::ready;
      any = true;
    }
    if (any) blocks_[rank].progress = blocks_[rank].steps;
  }
  moved = moved || any;
  return any;
}

bool Cluster::is_running(unsigned rank, const std::string& what, const char* file, int line) const {
  if (!blocks_[rank].ended) return true;
  const Finding f{.kind = Kind::use_after_free,
                  .file = file,
                  .line = line,
                  .text = what + " in the block of rank " + std::to_string(rank) +
                          " of the cluster, which has ended: its shared memory is gone"};
  if (!Session::current().options().goes_on) executor_.abandon(f);
  executor_.report(f);
  return false;
}

unsigned Cluster::rank_of_cause() const {
  const auto waits_elsewhere = [&](const ClusterBlock& block) {
    return !block.ended && std::ranges::any_of(block.lanes, [&](const Lane& l) {
      return l.state == State::meeting || (l.state == State::blocked && l.slot != &barrier_);
    });
  };
  auto at = std::ranges::find_if(blocks_, waits_elsewhere);
  if (at == blocks_.end()) at = std::ranges::find(blocks_, false, &ClusterBlock::ended);
  return unsigned(at - blocks_.begin());
}

}  // namespace klab::simt
