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

/// The traces of this host thread's clusters, by rank.
Trace& trace_of_rank(unsigned rank) {
  thread_local std::vector<std::unique_ptr<Trace>> traces;
  while (traces.size() <= rank) traces.push_back(std::make_unique<Trace>());
  return *traces[rank];
}

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
  if (executor_.trace != nullptr) {
    executor_.trace->acquired(b.over.seen_by(0, rank_));
    executor_.trace->note(Note::waited, line, next, 0, &b, "cluster's barrier");
  }
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

void Executor::set_aside(ClusterBlock& to) {
  Cluster& c = *cluster;
  // Threads keep their addresses, because waiting code refers to them.
  std::move(lanes_.begin(), lanes_.begin() + threads_, to.lanes.begin());
  to.order = order_;
  for (size_t k = 0; k < c.ranges_.size(); ++k)
    std::memcpy(to.kept[k], c.ranges_[k].live, c.ranges_[k].bytes);
  to.async = std::move(async_);
  to.steps = steps_;
  to.progress = progress_;
  to.resumed = resumed_;
  to.turn_ends = turn_;
  to.in_meetings = in_meetings_;
  to.vote = vote_;
  to.divergence_told = divergence_told_;
}

void Executor::take_up(unsigned rank) {
  Cluster& c = *cluster;
  ClusterBlock& from = c.blocks_[rank];
  c.rank_ = rank;
  turn = from.turn;
  trace = from.trace;
  findings_ = &from.result.findings;
  take_block(grid->order[turn]);
  if (!std::exchange(from.begun, true)) {
    for (unsigned t = 0; t < threads_; ++t) {  // as prepare() leaves them
      Lane& l = lanes_[t];
      l.thread = t;
      l.x = t % block_dim[0];
      l.y = t / block_dim[0] % block_dim[1];
      l.z = t / block_dim[0] / block_dim[1];
      l.warp = t / 32;
      l.lane = t % 32;
    }
    divergence_told_ = false;
    begin_block();
    return;
  }
  std::move(from.lanes.begin(), from.lanes.end(), lanes_.begin());
  order_ = from.order;
  for (size_t k = 0; k < c.ranges_.size(); ++k)
    std::memcpy(c.ranges_[k].live, from.kept[k], c.ranges_[k].bytes);
  async_ = std::move(from.async);
  steps_ = from.steps;
  progress_ = from.progress;
  resumed_ = from.resumed;
  turn_ = from.turn_ends;
  turns_waited_ = 0;
  in_meetings_ = from.in_meetings;
  vote_ = from.vote;
  divergence_told_ = from.divergence_told;
}

/// Runs the blocks in turns until all have ended.
void Executor::run_cluster() {
  Cluster& c = *cluster;
  const unsigned blocks = c.blocks(), first = unsigned(mixed(options_.seed + c.blocks_[0].turn) % blocks);
  for (unsigned ended = 0; ended < blocks;) {
    c.moved = false;
    for (unsigned k = 0; k < blocks; ++k) {
      ClusterBlock& one = c.blocks_[(first + k) % blocks];
      if (one.ended) continue;
      take_up((first + k) % blocks);
      one.ended = run_block();
      ended += one.ended;
      c.moved = c.moved || one.ended;
      if (one.ended) one.result.work = work_of_block();
      set_aside(one);
    }
    if (!c.moved && c.may_time_out) {
      take_up(c.rank_of_cause());
      stuck();
    }
    c.may_time_out = !c.moved;
  }
}

void Executor::work_on_clusters(GridRun& g) {
  attach(g.launch);
  watching = g.traced;
  prepare(g.launch, g.kernel, g.session.options(), nullptr);
  grid = &g;
  std::vector<Trace*> traces;
  const unsigned size = g.order.cluster_blocks();
  const struct Leave {
    Executor& e;
    std::vector<Trace*>& traces;
    ~Leave() {
      for (Trace* t : traces) t->leaves();
      e.running_no_more();
    }
  } leave{*this, traces};
  for (unsigned rank = 0; g.traced && rank < size; ++rank) {
    traces.push_back(&trace_of_rank(rank));
    traces.back()->joins(*this, g);
  }
  its_turn = true;
  std::vector<GridRun::Turn> turns;
  while (g.take_cluster(turns, traces.empty() ? 0 : traces[0]->edges_known())) {
    const bool watched = turns[0].watched && !traces.empty();
    Cluster one(*this, g.order.cluster_size(), watched);
    cluster = &one;
    for (unsigned rank = 0; rank < size; ++rank) {
      one.blocks_[rank].turn = turns[rank].number;
      one.blocks_[rank].result.turn = turns[rank].number;
      one.blocks_[rank].result.watched = watched;
      if (traces.empty()) continue;
      traces[rank]->learn(turns[rank].news, turns[rank].edges);
      traces[rank]->joins_cluster(&one, rank);
    }
    BlockResult& last = one.blocks_[size - 1].result;
    try {
      run_cluster();
    } catch (const Error&) {
      lane = nullptr;
      reset_fibers();
      if (aborted_)
        last.fatal = fatal_;
      else
        last.error = std::current_exception();
      if (aborted_) add(fatal_);
      aborted_ = false;
      if (trace != nullptr) trace->block_abandoned();
    }
    for (ClusterBlock& each : one.blocks_) {
      if (watched && each.begun) each.trace->deliver(each.result);
      g.ended(std::move(each.result));
    }
    findings_ = nullptr;
    async_.reset();
    cluster = nullptr;
    for (unsigned rank = 0; rank < traces.size(); ++rank) traces[rank]->joins_cluster(nullptr, rank);
  }
}

void Executor::running_no_more() {
  running = nullptr;
  grid = nullptr;
  cluster = nullptr;
  its_turn = true;
  trace = nullptr;
  findings_ = nullptr;
}

}  // namespace klab::simt
