// Synchronization of threads: barriers, meetings of lanes, and the report of a deadlock.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "harness/simt/async_block.h"
#include "harness/simt/background.h"
#include "harness/simt/cluster.h"
#include "harness/simt/executor.h"
#include "harness/simt/grid_run.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"
#include "harness/simt/trace.h"

namespace klab::simt {
namespace {
constexpr uint64_t kBarrierSteps = 16;  // about the cost of switching to another thread
}  // namespace

unsigned Executor::going_on(unsigned warp) const {
  unsigned mask = 0;
  for (unsigned i = 0; i < 32 && warp * 32 + i < threads_; ++i) {
    const State state = lanes_[warp * 32 + i].state;
    mask |= unsigned(state == State::fresh || state == State::ready) << i;
  }
  return mask;
}

unsigned Executor::ended(unsigned warp) const {
  const unsigned first = warp * 32;
  unsigned mask = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (first + i >= threads_ || lanes_[first + i].state == State::done) mask |= 1u << i;
  return mask;
}

bool Executor::hold_meetings(unsigned warp) {
  const unsigned first = warp * 32, count = std::min(32u, threads_ - first);
  bool held = false;
  unsigned gone = 0;
  bool known = false;
  for (unsigned i = 0; i < count; ++i) {
    Lane& one = lanes_[first + i];
    if (one.state != State::meeting) continue;
    if (!known) {
      gone = ended(warp);
      known = true;
    }
    void* slots[32] = {};
    unsigned present = 0;
    for (unsigned k = i; k < count; ++k) {
      const Lane& other = lanes_[first + k];
      if (other.state != State::meeting || other.what != one.what || other.mask != one.mask) continue;
      if (one.what == Meeting::active && other.line != one.line) continue;
      if (one.what == Meeting::matrix && other.act != one.act) continue;  // another instruction
      present |= 1u << k;
      slots[k] = other.slot;
    }
    if (one.what != Meeting::active && (one.mask & ~gone & ~present) != 0) continue;
    if (trace != nullptr) trace->lanes_met(warp, present);
    if (trace != nullptr && one.what == Meeting::syncwarp) trace->warp_synchronized(warp, present);
    if (one.act != nullptr) {
      lane = &one;
      one.act(slots, present);
      lane = nullptr;
      if (aborted_) throw Error("", "");
    }
    for (unsigned k = i; k < count; ++k)
      if (present >> k & 1) lanes_[first + k].state = State::ready;
    in_meetings_[warp] = uint8_t(in_meetings_[warp] - __builtin_popcount(present));
    held = true;
  }
  return held;
}

bool Executor::release_barrier() {
  unsigned waiting = 0, done = 0;
  Lane* one = nullptr;
  const Lane* elsewhere = nullptr;
  for (unsigned t = 0; t < threads_; ++t) {
    Lane& l = lanes_[t];
    done += l.state == State::done;
    if (l.state != State::at_barrier) continue;
    ++waiting;
    if (one == nullptr)
      one = &l;
    else if (l.line != one->line || (l.file != one->file && std::strcmp(l.file, one->file) != 0))
      elsewhere = &l;
  }
  if (waiting == 0 || waiting + done < threads_) return false;
  progress_ = steps_;
  if ((done > 0 || elsewhere != nullptr) && !divergence_told_) {
    divergence_told_ = true;
    std::string text = std::to_string(waiting) + " threads wait at " + one->name + "()";
    if (done > 0)
      text += ", " + std::to_string(done) + " threads of the block have ended without reaching it";
    if (elsewhere != nullptr)
      text += (done > 0 ? ";" : ",") + std::string(" some of them at this line and some at line ") +
              std::to_string(elsewhere->line);
    report({.kind = Kind::barrier_divergence, .file = one->file, .line = one->line, .text = text}, one);
  }
  int count = 0;
  bool all = true, any = false;
  for (unsigned t = 0; t < threads_; ++t) {
    Lane& l = lanes_[t];
    if (l.state != State::at_barrier) continue;
    l.state = State::ready;
    if (one->vote == Vote::sync) continue;
    count += l.predicate != 0;
    all = all && l.predicate != 0;
    any = any || l.predicate != 0;
  }
  vote_ = one->vote == Vote::count ? count : one->vote == Vote::all ? int(all) : int(any);
  if (trace != nullptr) trace->barrier_passed(one->file, one->line);
  return true;
}

/// Reports a deadlock: which threads wait for which.
void Executor::stuck() {
  const Lane* one = nullptr;
  for (unsigned t = 0; t < threads_ && one == nullptr; ++t)
    if (lanes_[t].state == State::meeting) one = &lanes_[t];
  Finding f;
  f.kernel = kernel_;
  if (std::any_of(lanes_.begin(), lanes_.begin() + threads_,
                  [](const Lane& l) { return l.state == State::blocked; })) {
    f = async().deadlock();
  } else if (one == nullptr) {
    f.kind = Kind::deadlock;
    f.text = "no thread can go on";
  } else {
    unsigned missing = 0, where = 0;
    const Lane* other = nullptr;
    const unsigned gone = ended(one->warp);
    for (unsigned i = 0; i < 32; ++i) {
      if ((one->mask >> i & 1) == 0 || (gone >> i & 1)) continue;
      const Lane& l = lanes_[one->warp * 32 + i];
      if (l.state == State::meeting && l.what == one->what && l.mask == one->mask &&
          (l.what != Meeting::matrix || l.act == one->act))
        continue;
      ++missing;
      where = i;
      other = &l;
    }
    f.kind =
        one->what == Meeting::syncwarp || one->what == Meeting::matrix ? Kind::deadlock : Kind::inactive_lane;
    f.file = one->file;
    f.line = one->line;
    char mask[16];
    std::snprintf(mask, sizeof mask, "0x%08x", one->mask);
    f.text = std::string(one->name) + " with mask " + mask + " waits for " + std::to_string(missing) +
             " lanes that do not take part";
    if (other != nullptr)
      f.text += "; lane " + std::to_string(where) + " waits in " + other->name + " at line " +
                std::to_string(other->line) +
                (other->state == State::meeting && other->what == one->what ? " with another mask" : "");
    f.thread[0] = one->x, f.thread[1] = one->y, f.thread[2] = one->z;
    std::copy(std::begin(block), std::end(block), f.block);
  }
  fatal_ = f;
  aborted_ = true;
  throw Error("", "");
}

int Executor::wait_at_barrier(Vote vote, int predicate, const char* file, int line) {
  Lane& l = *lane;
  steps_ += kBarrierSteps;
  l.state = State::at_barrier;
  l.vote = vote;
  l.predicate = predicate;
  l.name = vote == Vote::sync    ? "__syncthreads"
           : vote == Vote::count ? "__syncthreads_count"
           : vote == Vote::all   ? "__syncthreads_and"
                                 : "__syncthreads_or";
  l.file = file;
  l.line = line;
  suspend();
  return vote_;
}

void Executor::wait_for_lanes(Meeting what, unsigned mask, void* slot, void (*act)(void* const*, unsigned),
                              const char* name, const char* file, int line) {
  Lane& l = *lane;
  if (what != Meeting::active && (mask >> l.lane & 1) == 0) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", mask);
    report({.kind = Kind::inactive_lane,
            .file = file,
            .line = line,
            .text = std::string(name) + " with mask " + text + ", which lacks the calling lane " +
                    std::to_string(l.lane)});
    mask |= 1u << l.lane;
  }
  l.state = State::meeting;
  ++in_meetings_[l.warp];
  l.what = what;
  l.mask = mask;
  l.slot = slot;
  l.act = act;
  l.name = name;
  l.file = file;
  l.line = line;
  suspend();
}

bool Executor::wait_until_woken(const void* what, const char* name, const char* file, int line) {
  Lane& l = *lane;
  l.state = State::blocked;
  l.timed_out = false;
  l.slot = const_cast<void*>(what);
  l.name = name;
  l.file = file;
  l.line = line;
  suspend();
  return !l.timed_out;
}

bool Executor::wake(const void* what) {
  bool any = false;
  for (unsigned t = 0; t < threads_; ++t) {
    Lane& l = lanes_[t];
    if (l.state != State::blocked || l.slot != what) continue;
    l.state = State::ready;
    any = true;
  }
  if (cluster != nullptr) any = cluster->wake(what) || any;
  return any;
}

bool Executor::all_wait() const {
  constexpr uint32_t kSpins = 1000;
  bool any = false;
  for (unsigned t = 0; t < threads_; ++t) {
    const Lane& l = lanes_[t];
    if (l.state == State::done || l.state == State::at_barrier || l.state == State::meeting ||
        l.state == State::blocked)
      continue;
    if (l.state == State::fresh || l.spins < kSpins) return false;
    any = true;
  }
  return any;
}

bool Executor::waits_for_host(const Lane& l) const {
  if (const Allocation* a = global_at(l.spin_at); a != nullptr)
    return a->home == Home::managed || a->home == Home::pinned;
  return !is_shared(l.spin_at, 1);  // a __managed__ variable
}

bool Executor::host_went_on() {
  if (grid == nullptr || grid->background == nullptr) return false;
  for (unsigned t = 0; t < threads_; ++t) {
    const Lane& l = lanes_[t];
    if (l.state != State::ready || l.spins == 0 || !waits_for_host(l)) continue;
    if (!grid->background->wait_for_host(l.spin_at)) return false;
    for (unsigned k = 0; k < threads_; ++k) lanes_[k].spins = 0;
    turns_waited_ = 0;
    progress_ = steps_;
    return true;
  }
  return false;
}

/// Ends the launch: earlier blocks have ended, and a later one cannot run before this one ends.
void Executor::spins_for_ever() {
  const Lane* one = nullptr;
  for (unsigned t = 0; t < threads_; ++t) {
    const Lane& l = lanes_[t];
    if (l.state == State::done || l.spins == 0) continue;
    if (one == nullptr || (waits_for_host(l) && !waits_for_host(*one))) one = &l;
  }
  const SourceLine at = source_of(one->spin_place);
  const Allocation* a = global_at(one->spin_at);
  const bool for_host = waits_for_host(*one);
  const std::string word =
      a != nullptr ? a->name + ", byte " + std::to_string(static_cast<const char*>(one->spin_at) - a->begin)
      : for_host   ? "a __managed__ variable"
                   : "a word of shared memory";
  if (for_host && cannot_run != nullptr) {
    const bool several = uint64_t(grid_dim[0]) * grid_dim[1] * grid_dim[2] > 1;
    cannot_run(
        placed({.kind = Kind::never_ends,
                .file = at.file,
                .line = at.line,
                .text = "this thread waits for " + word + ", which host code can write" +
                        (several ? "; later blocks, which could, begin when this one has ended" : "") +
                        ". Host code waits for the launch, though, or for a call of the runtime, and has "
                        "no other thread: a program whose kernel waits for more needs a GPU"},
               one));
  }
  fatal_ = placed(
      {.kind = Kind::never_ends,
       .file = at.file,
       .line = at.line,
       .text = "this thread reads " + word +
               " over and over, and all others of the block wait; earlier blocks have ended, and later "
               "ones have not started. Blocks run in any order: one that waits for others should draw its "
               "number from a counter (atomicAdd) when it begins, and wait for lower numbers" +
               (a != nullptr ? ". A copy in another stream cannot write the word while the launch runs here"
                             : "")},
      one);
  aborted_ = true;
  for (;;) boost::context::detail::jump_fcontext(scheduler_, nullptr);
}

void Executor::turn_ends(const void* pc) {
  turn_ = steps_ + kTurn;
  if (grid != nullptr && grid->is_over(turn)) give_up();
  constexpr unsigned kPatience = 64;
  turns_waited_ =
      trace != nullptr && !launch->cooperative && cluster == nullptr && all_wait() ? turns_waited_ + 1 : 0;
  if (turns_waited_ >= kPatience && !host_went_on()) spins_for_ever();
  if (steps_ - progress_ <= step_limit_ && steps_ / kStepsInAll <= step_limit_) {
    if (trace == nullptr) let_others_run();  // it may wait for them; a traced thread yields elsewhere
    return;
  }
  const SourceLine at = source_of(pc);
  abandon({.kind = Kind::never_ends,
           .file = at.file,
           .line = at.line,
           .text = "the threads of the block have taken " + std::to_string(steps_) +
                   " steps and have not ended; this one stands here"});
}

void Executor::let_others_run() {
  lane->state = State::ready;
  yielded_ = true;
  suspend();
}

Finding Executor::placed(Finding f, const Lane* of) const {
  if (of == nullptr) of = lane;
  f.kernel = kernel_;
  std::copy(std::begin(block), std::end(block), f.block);
  if (of != nullptr) f.thread[0] = of->x, f.thread[1] = of->y, f.thread[2] = of->z;
  return f;
}

void Executor::report(Finding f, const Lane* of) { add(placed(std::move(f), of)); }

void Executor::add(const Finding& f) {
  constexpr size_t kOfBlock = 1000;
  if (findings_ != nullptr)
    add_finding(*findings_, f, kOfBlock);
  else
    Session::current().add(f);
}

void Executor::end_launch(Finding f) {
  fatal_ = placed(std::move(f));
  aborted_ = true;
  throw Error("", "");
}

void Executor::abandon(Finding f) {
  fatal_ = placed(std::move(f));
  aborted_ = true;
  for (;;) boost::context::detail::jump_fcontext(scheduler_, nullptr);
}

}  // namespace klab::simt
