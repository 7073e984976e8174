#include "harness/simt/block_runner.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "harness/simt/async_block.h"
#include "harness/simt/background.h"
#include "harness/simt/cluster.h"
#include "harness/simt/grid_run.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"
#include "harness/simt/trace.h"

namespace klab::simt {

CannotRun cannot_run = nullptr;

BlockRunner::BlockRunner() = default;
BlockRunner::~BlockRunner() = default;

AsyncBlock& BlockRunner::async() {
  if (async_ == nullptr) async_ = std::make_unique<AsyncBlock>(*this);
  return *async_;
}

void BlockRunner::shuffle_lanes(unsigned warp) {
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

void BlockRunner::begin_block() {
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

bool BlockRunner::run_warp(unsigned warp) {
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

bool BlockRunner::run_block() {
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

void BlockRunner::turn_ends(const void* pc) {
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

bool BlockRunner::all_wait() const {
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

bool BlockRunner::waits_for_host(const Lane& l) const {
  if (const Allocation* a = global_at(l.spin_at); a != nullptr)
    return a->home == Home::managed || a->home == Home::pinned || copies_may_write;
  return !is_shared(l.spin_at, 1);  // a __managed__ variable, or one that a copy may write
}

bool BlockRunner::host_went_on() {
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

void BlockRunner::spins_for_ever() {
  const Lane* one = nullptr;
  for (unsigned t = 0; t < threads_; ++t) {
    const Lane& l = lanes_[t];
    if (l.state == State::done || l.spins == 0) continue;
    if (one == nullptr || (waits_for_host(l) && !waits_for_host(*one))) one = &l;
  }
  const SourceLine at = source_of(one->spin_place);
  const Allocation* a = global_at(one->spin_at);
  const bool of_host =
      a != nullptr ? a->home == Home::managed || a->home == Home::pinned : waits_for_host(*one);
  const bool several = uint64_t(grid_dim[0]) * grid_dim[1] * grid_dim[2] > 1;
  const std::string word =
      a != nullptr ? a->name + ", byte " + std::to_string(static_cast<const char*>(one->spin_at) - a->begin)
      : of_host    ? "a variable of the device"
                   : "a word of shared memory";
  const Standstill none, *const left = grid != nullptr && grid->background != nullptr && waits_for_host(*one)
                                           ? &grid->background->standstill()
                                           : &none;
  Finding f{.kind = Kind::never_ends, .file = at.file, .line = at.line};
  if (!left->why.empty() && left->on_gpu && !several) {
    f.text = "this thread waits for " + word + ", which nothing is left to write. " + left->why +
             ". On a GPU neither gets on";
    abandon(std::move(f), one);
  }
  if (cannot_run != nullptr && (of_host || (!left->why.empty() && !left->on_gpu && !several))) {
    f.text = "this thread waits for " + word + (of_host ? ", which host code can write" : "") +
             (several && of_host ? "; later blocks, which could, begin when this one has ended" : "") + ". " +
             (left->why.empty() ? "Host code waits for the launch, though" : left->why) +
             ": a program whose kernel waits for more needs a GPU";
    cannot_run(placed(std::move(f), one));
  }
  f.text = "this thread reads " + word +
           " over and over, and all others of the block wait; earlier blocks have ended, and later "
           "ones have not started. Blocks run in any order: one that waits for others should draw its "
           "number from a counter (atomicAdd) when it begins, and wait for lower numbers";
  abandon(std::move(f), one);
}

void BlockRunner::stuck() {
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

}  // namespace klab::simt
