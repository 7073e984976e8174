#include "harness/simt/fibers.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "harness/simt/cluster.h"
#include "harness/simt/exit_thread.h"
#include "harness/simt/grid_run.h"

namespace klab::simt {

namespace ctx = boost::context::detail;

namespace {

constexpr size_t kStack = kStackOfThread;
constexpr size_t kStackGuard = 4096;
constexpr size_t kMostGuards = 12000;

struct ThreadExit {};

}  // namespace

void exit_thread() { throw ThreadExit{}; }

Fibers::~Fibers() {
  for (auto& f : fibers_) munmap(f->stack - kStackGuard, kStack + kStackGuard);
}

Fiber* Fibers::idle_fiber() {
  if (idle_.empty()) {
    auto f = std::make_unique<Fiber>();
    void* p = mmap(nullptr, kStack + kStackGuard, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (p == MAP_FAILED) throw Error("cudaErrorMemoryAllocation", "no memory for the stack of a thread");
    // A guard page makes a stack overflow fault. Only the first stacks get one, since the system limits the
    // number of mappings in a process.
    static std::atomic<size_t> guards{0};
    if (guards++ < kMostGuards) mprotect(p, kStackGuard, PROT_NONE);
    f->stack = static_cast<char*>(p) + kStackGuard;
    // Offset the tops of the stacks within a page, so that they do not compete for one cache set.
    const size_t top = kStack - (fibers_.size() * 576) % kStackGuard / 64 * 64;
    f->at = ctx::make_fcontext(f->stack + top, top, fiber_main);
    idle_.push_back(f.get());
    fibers_.push_back(std::move(f));
  }
  Fiber* f = idle_.back();
  idle_.pop_back();
  return f;
}

void Fibers::reset_fibers() {
  idle_.clear();
  for (size_t i = 0; i < fibers_.size(); ++i) {
    const size_t top = kStack - (i * 576) % kStackGuard / 64 * 64;
    fibers_[i]->at = ctx::make_fcontext(fibers_[i]->stack + top, top, fiber_main);
    idle_.push_back(fibers_[i].get());
  }
}

void Fibers::fiber_main(ctx::transfer_t from) {
  auto* self = static_cast<Fibers*>(from.data);
  self->scheduler_ = from.fctx;
  for (;;) {
    Fiber* fiber = self->lane->fiber;
    do {
      try {
        self->launch->call(self->launch->kernel, self->launch->parameters);
      } catch (const ThreadExit&) {
      }
      Lane* ended = self->lane;
      ended->state = State::done;
      if (self->cluster != nullptr) self->cluster->thread_ended(*ended);
      self->progress_ = self->steps_;
      ended->fiber = nullptr;
      self->lane = self->next_fresh(ended->warp);
      if (self->lane != nullptr) {
        self->go_on_with(self->lane);
        self->lane->runs_on(fiber);
      }
    } while (self->lane != nullptr);
    self->idle_.push_back(fiber);
    const auto back = ctx::jump_fcontext(self->scheduler_, fiber);
    self->scheduler_ = back.fctx;
  }
}

Lane* Fibers::next_fresh(unsigned warp) {
  const unsigned first = warp * 32, count = std::min(32u, threads_ - first);
  while (fresh_from_ < count) {
    Lane& next = lanes_[first + order_[first + fresh_from_++]];
    if (next.state == State::fresh) {
      next.state = State::ready;
      return &next;
    }
  }
  return nullptr;
}

void Fibers::resume(Lane& next) {
  go_on_with(&next);
  ++resumed_;
  if (next.fiber == nullptr) next.runs_on(idle_fiber());
  const auto back = ctx::jump_fcontext(next.fiber->at, this);
  // May be another fiber than the one entered: a lane that waits switches directly to the next.
  if (back.data != nullptr) static_cast<Fiber*>(back.data)->at = back.fctx;
  lane = nullptr;
  if (aborted_) throw Error("", "");
}

Lane* Fibers::next_ready() {
  while (++scan_ < scan_end_) {
    Lane& next = lanes_[scan_first_ + order_[scan_first_ + scan_]];
    if (next.state == State::ready) return &next;
  }
  return nullptr;
}

void Fibers::suspend() {
  Lane* const me = lane;
  ctx::transfer_t back;
  if (Lane* const next = next_ready(); next != nullptr) {
    go_on_with(next);
    ++resumed_;
    back = ctx::jump_fcontext(next->fiber->at, me->fiber);
  } else {
    back = ctx::jump_fcontext(scheduler_, me->fiber);
  }
  if (back.data == this)
    scheduler_ = back.fctx;
  else
    static_cast<Fiber*>(back.data)->at = back.fctx;
  lane = me;
}

void Fibers::let_others_run() {
  lane->state = State::ready;
  yielded_ = true;
  suspend();
}

void Fibers::wait_for_turn() {
  its_turn = grid->wait_for(turn);
  if (!its_turn) give_up();
}

void Fibers::leave() {
  aborted_ = true;
  for (;;) ctx::jump_fcontext(scheduler_, nullptr);
}

void Fibers::give_up() {
  given_up_ = true;
  leave();
}

void Fibers::abandon(Finding f, const Lane* of) {
  fatal_ = placed(std::move(f), of);
  leave();
}

void Fibers::end_launch(Finding f) {
  fatal_ = placed(std::move(f));
  aborted_ = true;
  throw Error("", "");
}

}  // namespace klab::simt
