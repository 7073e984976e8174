#include "harness/simt/executor.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "harness/simt/async_block.h"
#include "harness/simt/cluster.h"
#include "harness/simt/grid_run.h"
#include "harness/simt/modules.h"
#include "harness/simt/program_symbols.h"
#include "harness/simt/trace.h"

namespace klab::simt {

namespace ctx = boost::context::detail;

constinit thread_local Executor* running = nullptr;
BlockDone block_done = nullptr;
CannotRun cannot_run = nullptr;

extern "C" {
constinit thread_local unsigned klab_thread_idx[3] = {}, klab_block_idx[3] = {}, klab_block_dim[3] = {},
                                klab_grid_dim[3] = {};
}

namespace {

constexpr size_t kStack = kStackOfThread;
constexpr size_t kStackGuard = 4096;
constexpr size_t kMostGuards = 12000;

}  // namespace

Executor& executor() {
  thread_local Executor one;
  return one;
}

Executor::Executor() : lanes_(1024), order_(1024) {}

Executor::~Executor() {
  for (auto& f : fibers_) munmap(f->stack - kStackGuard, kStack + kStackGuard);
}

Fiber* Executor::idle_fiber() {
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

/// Makes all fibers idle again. After an aborted launch they are suspended in threads that will never be
/// resumed.
void Executor::reset_fibers() {
  idle_.clear();
  for (size_t i = 0; i < fibers_.size(); ++i) {
    const size_t top = kStack - (i * 576) % kStackGuard / 64 * 64;
    fibers_[i]->at = ctx::make_fcontext(fibers_[i]->stack + top, top, fiber_main);
    idle_.push_back(fibers_[i].get());
  }
}

void Executor::fiber_main(ctx::transfer_t from) {
  auto* self = static_cast<Executor*>(from.data);
  self->scheduler_ = from.fctx;
  for (;;) {
    Fiber* fiber = self->lane->fiber;
    do {
      self->launch->call(self->launch->kernel, self->launch->parameters);
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

Lane* Executor::next_fresh(unsigned warp) {
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

/// Runs a lane until it waits, or until it ends and its warp has no fresh lane left.
void Executor::resume(Lane& next) {
  go_on_with(&next);
  ++resumed_;
  if (next.fiber == nullptr) next.runs_on(idle_fiber());
  const auto back = ctx::jump_fcontext(next.fiber->at, this);
  // May be another fiber than the one entered: a lane that waits switches directly to the next.
  if (back.data != nullptr) static_cast<Fiber*>(back.data)->at = back.fctx;
  lane = nullptr;
  if (aborted_) throw Error("", "");
}

/// Returns the next suspended lane in the running warp's turn that is ready.
Lane* Executor::next_ready() {
  while (++scan_ < scan_end_) {
    Lane& next = lanes_[scan_first_ + order_[scan_first_ + scan_]];
    if (next.state == State::ready) return &next;
  }
  return nullptr;
}

void Executor::suspend() {
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

void Executor::shuffle_lanes(unsigned warp) {
  const unsigned first = warp * 32, count = std::min(32u, threads_ - first);
  const uint64_t random = mixed(options_.seed * 1000003 + block_number * 64 + warp);
  // An odd step visits every lane of a full warp once.
  const unsigned begin = unsigned(random & 31), step = unsigned(random >> 8 & 31) | 1;
  unsigned n = 0;
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned index = (begin + i * step) & 31;
    if (index < count) order_[first + n++] = uint8_t(index);
  }
}

bool Executor::run_warp(unsigned warp) {
  const unsigned first = warp * 32, count = std::min(32u, threads_ - first);
  bool moved = false;
  for (;;) {
    fresh_from_ = scan_end_ = 0;
    yielded_ = false;
    bool any = false;
    while (Lane* fresh = next_fresh(warp)) {
      resume(*fresh);
      any = true;
    }
    scan_first_ = first;
    scan_end_ = count;
    for (scan_ = 0; scan_ < count; ++scan_) {
      Lane& next = lanes_[first + order_[first + scan_]];
      if (next.state != State::ready) continue;
      resume(next);
      any = true;
    }
    scan_end_ = 0;
    moved = moved || any;
    if (in_meetings_[warp] > 0 && hold_meetings(warp)) {
      moved = true;
      continue;
    }
    bool ready = false;
    for (unsigned i = 0; i < count && yielded_; ++i) ready = ready || lanes_[first + i].state == State::ready;
    if (!ready) break;
    // Some lanes yielded: let other warps go first.
    if (trace != nullptr) trace->segment_full(warp);
    return true;
  }
  if (trace != nullptr && moved) trace->segment_ended(warp);
  return moved;
}

void Executor::begin_block() {
  for (unsigned t = 0; t < threads_; ++t) {
    Lane& l = lanes_[t];
    l.state = State::fresh;
    l.fiber = nullptr;
    l.steps = 0;
    l.fenced_at = 0;
    l.spins = 0;
    l.spin_at = nullptr;
    l.fenced = false;
    l.waited_for_launch = false;
    l.plain_reads = {};
    l.frames.clear();
    l.copies.clear();
    l.groups.clear();
  }
  steps_ = 0;
  progress_ = 0;
  resumed_ = 0;
  turns_waited_ = 0;
  in_meetings_.fill(0);
  async_.reset();
  turn_ = kTurn;
  for (unsigned w = 0; w < warps(); ++w) shuffle_lanes(w);
  if (trace != nullptr) trace->block_begins();
}

bool Executor::run_block() {
  const unsigned from = unsigned(mixed(options_.seed + block_number) % std::max(1U, warps()));
  constexpr unsigned kRoundsInCluster = 8;  // before other blocks go on, if threads yield
  unsigned rounds = 0;
  for (;;) {
    bool moved = false, yielded = false;
    for (unsigned w = 0; w < warps(); ++w) {
      moved = run_warp((w + from) % warps()) || moved;
      yielded = yielded || yielded_;
    }
    if (cluster != nullptr) cluster->moved = cluster->moved || moved;
    if (release_barrier()) continue;
    unsigned done = 0;
    for (unsigned t = 0; t < threads_; ++t) done += lanes_[t].state == State::done;
    if (done == threads_) break;
    if (cluster != nullptr && moved && yielded && ++rounds >= kRoundsInCluster) return false;
    if (moved) continue;
    if (async_ != nullptr && async_->advance(cluster == nullptr || cluster->may_time_out)) continue;
    if (all_at_grid()) return false;
    if (cluster != nullptr) return false;
    stuck();
  }
  if (cluster != nullptr && trace != nullptr) trace->check_uses_by_peers();
  if (async_ != nullptr) async_->block_ended();
  if (trace != nullptr) trace->block_ended();
  return true;
}

void Executor::take_block(uint64_t b) {
  block[0] = unsigned(b % grid_dim[0]);
  block[1] = unsigned(b / grid_dim[0] % grid_dim[1]);
  block[2] = unsigned(b / grid_dim[0] / grid_dim[1]);
  block_number = b;
  std::copy(std::begin(block), std::end(block), klab_block_idx);
}

AsyncBlock& Executor::async() {
  if (async_ == nullptr) async_ = std::make_unique<AsyncBlock>(*this);
  return *async_;
}

bool Executor::is_shared(const void* p, size_t bytes) const {
  const auto* c = static_cast<const char*>(p);
  const auto within = [=](const char* from, size_t size) {
    return size_t(c - from) < size && size - size_t(c - from) >= bytes;
  };
  return within(dynamic_shared, launch->shared_bytes) || within(static_shared, static_shared_bytes);
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
  for (unsigned t = 0; t < threads_; ++t) {
    Lane& l = lanes_[t];
    l.thread = t;
    l.x = t % what.block[0];
    l.y = t / what.block[0] % what.block[1];
    l.z = t / what.block[0] / what.block[1];
    l.warp = t / 32;
    l.lane = t % 32;
  }
  if (arena != nullptr) {
    dynamic_shared = arena;
  } else {
    constexpr size_t kAlign = 1024;
    dynamic_.resize(what.shared_bytes + 2 * kAlign);
    const auto address = reinterpret_cast<uintptr_t>(dynamic_.data());
    dynamic_shared = dynamic_.data() + (kAlign - address % kAlign) % kAlign;
  }
  aborted_ = given_up_ = false;
  divergence_told_ = false;
  step_limit_ = options.step_limit != 0 ? options.step_limit : with != nullptr ? kTracedSteps : kSteps;
  watched_ = 0;
  at_zero = {};
  running = this;
}

uint64_t Executor::work_of_block() const {
  constexpr uint64_t kThread = 4, kResume = 8;  // approximate, in steps
  return steps_ + kThread * threads_ + kResume * resumed_;
}

/// Runs all blocks sequentially.
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
    const bool watch = is_watched(n, options_.share);
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

}  // namespace klab::simt
