// Runs blocks concurrently on several host threads: the code that each of these threads executes.
#include "harness/simt/executor.h"
#include "harness/simt/grid_run.h"
#include "harness/simt/trace.h"

namespace klab::simt {

bool Executor::is_the_blocks(const void* p) const {
  const auto* c = static_cast<const char*>(p);
  if (lane != nullptr && size_t(c - lane->stack) < kStackOfThread) return true;
  return size_t(c - static_shared) < static_shared_bytes || size_t(c - dynamic_shared) < launch->shared_bytes;
}

void Executor::wait_for_turn() {
  its_turn = grid->wait_for(turn);
  if (!its_turn) give_up();
}

/// Leaves a block whose launch ended in an earlier block. Its results are not used.
void Executor::give_up() {
  given_up_ = aborted_ = true;
  for (;;) boost::context::detail::jump_fcontext(scheduler_, nullptr);
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

}  // namespace klab::simt
