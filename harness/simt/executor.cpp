#include "harness/simt/executor.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "harness/simt/async_block.h"
#include "harness/simt/cluster.h"
#include "harness/simt/grid_run.h"
#include "harness/simt/modules.h"
#include "harness/simt/program_symbols.h"
#include "harness/simt/trace.h"
#include "harness/simt/unwatched.h"

namespace klab::simt {

constinit thread_local Executor* running = nullptr;
BlockDone block_done = nullptr;

Executor& executor() {
  thread_local Executor one;
  return one;
}

void Executor::attach(const Launch& what) {
  const Module* module = module_at(what.kernel);
  arena = module != nullptr && module->arena != nullptr ? static_cast<char*>(module->arena()) : nullptr;
  static_shared = nullptr;
  static_shared_bytes = 0;
  if (module != nullptr) shared_of(*module, &static_shared, &static_shared_bytes);
}

void Executor::prepare(const Launch& what, const std::string& kernel, const Options& options, Trace* with) {
  launch = &what;
  kernel_ = kernel;
  options_ = options;
  trace = with;
  std::copy(what.block, what.block + 3, block_dim);
  std::copy(what.grid, what.grid + 3, grid_dim);
  std::copy(what.block, what.block + 3, klab_block_dim);
  std::copy(what.grid, what.grid + 3, klab_grid_dim);
  threads_ = what.block[0] * what.block[1] * what.block[2];
  number_lanes();
  if (arena != nullptr) {
    dynamic_shared = arena;
  } else {
    constexpr size_t kTileAlignment = 1024;
    dynamic_.resize(what.shared_bytes + 2 * kTileAlignment);
    const auto address = reinterpret_cast<uintptr_t>(dynamic_.data());
    dynamic_shared = dynamic_.data() + (kTileAlignment - address % kTileAlignment) % kTileAlignment;
  }
  aborted_ = given_up_ = false;
  divergence_told_ = false;
  step_limit_ = options.step_limit != 0 ? options.step_limit : with != nullptr ? kTracedSteps : kSteps;
  watched_ = 0;
  at_zero = {};
  running = this;
}

void Executor::run_alone(Session& session, Trace* with) {
  const BlockOrder order{uint64_t{grid_dim[0]} * grid_dim[1] * grid_dim[2], options_.seed,
                         is_of_library(launch->kernel)};
  const uint64_t blocks = order.size();
  if (launch->cooperative) {
    std::vector<uint64_t> all;
    for (uint64_t n = 0; n < blocks; ++n) all.push_back(order[n]);
    watched_ = blocks;
    run_cooperative(all);
    session.add_work(steps_);
    return;
  }
  for (uint64_t n = 0; n < blocks; ++n) {
    const bool watch = is_watched(n, share_now(options_));
    trace = watch ? with : nullptr;
    watched_ += watch;
    take_block(order[n]);
    begin_block();
    run_block();
    session.add_work(work_of_block());
    if (options_.work_limit != 0 && session.work() > options_.work_limit && n + 1 < blocks) {
      running = nullptr;
      lane = nullptr;
      const Finding long_one{
          .kind = Kind::never_ends, .kernel = kernel_, .text = "takes more work than it may"};
      session.add(long_one);
      throw Error("cudaErrorLaunchTimeout", long_one.describe());
    }
    if (block_done != nullptr) block_done(n + 1, blocks, kernel_);
  }
}

const char* cuda_name_of(const Finding& fatal) {
  return fatal.kind == Kind::misaligned ? "cudaErrorMisalignedAddress"
         : fatal.kind == Kind::deadlock || fatal.kind == Kind::never_ends || fatal.kind == Kind::inactive_lane
             ? "cudaErrorLaunchTimeout"
         : fatal.kind == Kind::trap ? "cudaErrorLaunchFailure"
                                    : "cudaErrorIllegalAddress";
}

void Executor::run(const Launch& what, const std::string& kernel, const Options& options, Trace* with) {
  if (running != nullptr) throw Error("cudaErrorNotSupported", "a launch from inside a kernel");
  prepare(what, kernel, options, with);
  Session& session = Session::current();
  try {
    run_alone(session, with);
  } catch (const Error&) {
    running = nullptr;
    lane = nullptr;
    reset_fibers();
    session.add_work(steps_);
    trace = with;
    if (!aborted_) throw;
    session.add(fatal_);
    throw Error(cuda_name_of(fatal_), fatal_.describe());
  }
  running = nullptr;
  trace = with;
}

void Executor::run_one_of(GridRun& g, BlockResult& result) {
  take_block(g.order[turn]);
  its_turn = false;
  divergence_told_ = false;
  findings_ = &result.findings;
  try {
    begin_block();
    run_block();
    result.work = work_of_block();
  } catch (const Error&) {
    lane = nullptr;
    reset_fibers();
    result.work = steps_;
    if (aborted_ && !given_up_) {
      result.fatal = fatal_;
      add(fatal_);
    }
    if (!aborted_) result.error = std::current_exception();
    if (trace != nullptr) trace->block_abandoned();
    aborted_ = given_up_ = false;
  }
  if (trace != nullptr) trace->deliver(result);
  findings_ = nullptr;
}

void Executor::work_on(GridRun& g) {
  Trace* const with = g.traced ? &trace_of_thread() : nullptr;
  watching = g.traced;
  attach(g.launch);
  prepare(g.launch, g.kernel, g.session.options(), with);
  grid = &g;
  if (with != nullptr) with->joins(*this, g);
  for (GridRun::Turn next; g.take(next, with != nullptr ? with->edges_known() : 0);) {
    trace = next.watched ? with : nullptr;
    turn = next.number;
    if (with != nullptr) with->learn(next.news, next.edges);
    BlockResult result{.turn = turn, .watched = next.watched};
    run_one_of(g, result);
    g.ended(std::move(result));
  }
  if (with != nullptr) with->leaves();
  running = nullptr;
  grid = nullptr;
  its_turn = true;
  trace = nullptr;
}

struct Executor::Parked {
  bool ended = false;
  uint64_t number = 0;
  std::vector<Lane> lanes;
  std::vector<uint8_t> order;
  std::vector<char> fixed, dynamic;  // shared memory
  std::unique_ptr<AsyncBlock> async;
  Trace::ParkedBlock trace;
};

void Executor::park(Parked& to) {
  to.number = block_number;
  // Threads keep their addresses, because waiting code refers to them.
  to.lanes.assign(std::make_move_iterator(lanes_.begin()),
                  std::make_move_iterator(lanes_.begin() + threads_));
  to.order = order_;
  if (static_shared != nullptr) to.fixed.assign(static_shared, static_shared + static_shared_bytes);
  if (launch->shared_bytes > 0) to.dynamic.assign(dynamic_shared, dynamic_shared + launch->shared_bytes);
  to.async = std::move(async_);
  if (trace != nullptr) to.trace = trace->park();
}

void Executor::unpark(Parked& from) {
  take_block(from.number);
  std::move(from.lanes.begin(), from.lanes.end(), lanes_.begin());
  order_ = from.order;
  async_ = std::move(from.async);
  for (unsigned t = 0; t < threads_; ++t)
    if (lanes_[t].state == State::at_grid) lanes_[t].state = State::ready;
  if (trace != nullptr) trace->unpark(std::move(from.trace));
  if (!from.fixed.empty()) std::memcpy(static_shared, from.fixed.data(), from.fixed.size());
  if (!from.dynamic.empty()) std::memcpy(dynamic_shared, from.dynamic.data(), from.dynamic.size());
  progress_ = steps_;
}

void Executor::run_cooperative(const std::vector<uint64_t>& blocks) {
  std::vector<Parked> all(blocks.size());
  for (size_t k = 0; k < blocks.size(); ++k) {
    take_block(blocks[k]);
    begin_block();
    all[k].ended = run_block();
    if (!all[k].ended) park(all[k]);
  }
  for (;;) {
    const auto left = std::ranges::count(all, false, &Parked::ended);
    if (left == 0) return;
    if (size_t(left) < all.size()) {
      const auto first = std::ranges::find(all, false, &Parked::ended);
      take_block(first->number);
      const auto waits = std::ranges::find(first->lanes, State::at_grid, &Lane::state);
      report({.kind = Kind::barrier_divergence,
              .file = waits->file,
              .line = waits->line,
              .text = std::to_string(left) + " blocks wait for the grid, " +
                      std::to_string(all.size() - size_t(left)) + " have ended without reaching it"},
             &*waits);
    }
    if (trace != nullptr) trace->grid_synchronized();
    for (Parked& one : all) {
      if (one.ended) continue;
      unpark(one);
      one.ended = run_block();
      if (!one.ended) park(one);
    }
  }
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
    number_lanes();
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
