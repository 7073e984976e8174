#include "harness/simt/rendezvous.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "harness/simt/cluster.h"
#include "harness/simt/trace.h"

namespace klab::simt {
namespace {
constexpr uint64_t kBarrierSteps = 16;  // about the cost of switching to another thread
}  // namespace

bool Rendezvous::hold_meetings(unsigned warp) {
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

bool Rendezvous::release_barrier() {
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

int Rendezvous::wait_at_barrier(Vote vote, int predicate, const char* file, int line) {
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

void Rendezvous::wait_for_lanes(Meeting what, unsigned mask, void* slot, void (*act)(void* const*, unsigned),
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

bool Rendezvous::wait_until_woken(const void* what, const char* name, const char* file, int line) {
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

bool Rendezvous::wake(const void* what) {
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

bool Rendezvous::all_at_grid() const {
  bool any = false;
  for (unsigned t = 0; t < threads_; ++t) {
    any = any || lanes_[t].state == State::at_grid;
    if (lanes_[t].state != State::at_grid && lanes_[t].state != State::done) return false;
  }
  return any;
}

void Rendezvous::wait_for_grid(const char* file, int line) {
  if (!launch->cooperative)
    abandon(
        {.kind = Kind::deadlock,
         .file = file,
         .line = line,
         .text =
             "the grid is waited for in a launch that is not cooperative: use cudaLaunchCooperativeKernel"});
  Lane& l = *lane;
  l.state = State::at_grid;
  l.name = "grid.sync";
  l.file = file;
  l.line = line;
  suspend();
}

}  // namespace klab::simt
