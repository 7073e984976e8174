#include "harness/simt/trace.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "harness/simt/modules.h"
#include "harness/simt/recording.h"

namespace klab::simt {
namespace {

std::atomic<uint32_t> last_interval{1};

}  // namespace

uint32_t Trace::new_intervals(uint32_t count) { return last_interval.fetch_add(count) + 1; }

const InStreams* in_streams = nullptr;

Trace& trace_of_thread() {
  thread_local Trace one;
  return one;
}

void SharedShadow::attach(char* begin, size_t bytes) {
  if (begin == begin_ && bytes == bytes_) return;
  forget();
  begin_ = begin;
  bytes_ = bytes;
  cells_.assign((bytes + 3) / 4 + 1, Cell{});
}

void SharedShadow::forget() {
  for (const uint32_t word : touched_) {
    cells_[word] = Cell{};
    std::memset(begin_ + size_t(word) * 4, 0xFF, std::min<size_t>(4, bytes_ - size_t(word) * 4));
  }
  touched_.clear();
}

void Trace::launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch) {
  grid_ = nullptr;
  cluster_ = nullptr;
  begins(executor, session, profile, launch);
  interval_ = next_interval();
  launch_is_behind(interval_);
  split_global_.forget();
}

void Trace::begins(Executor& executor, Session& session, Profile* profile, const Launch& launch) {
  executor_ = &executor;
  session_ = &session;
  profile_ = profile;
  split_shared_.forget();
  block_firsts_.clear();
  block_numbers_.clear();
  released_.clear();
  released_threads_.clear();
  is_hint_.clear();
  known_sites_.fill({});
  parameters_ = static_cast<const char*>(launch.parameters);
  parameter_bytes_ = launch.parameter_bytes;
  static_.attach(executor.static_shared, executor.static_shared_bytes);
  variables_ = shared_variables_of(launch.kernel);
  variable_of_.assign(executor.static_shared_bytes / 4 + 1, 0);
  for (size_t k = 0; k < variables_.size(); ++k)
    for (size_t b = variables_[k].offset; b < variables_[k].offset + variables_[k].bytes; b += 4)
      if (b / 4 < variable_of_.size()) variable_of_[b / 4] = uint16_t(k + 1);
  barriers_ = 0;
  doubt_.p = nullptr;
  contained_.undo();
  bad_index_.lane = nullptr;
  unsettled_ = false;
  counting_ = session.options().counts;
  recording_ = counting_ ? Recording::current() : nullptr;
  flow_ = {};
  known_flow_ = {};
  blocks_begun_ = 0;
  compiled_.launch_begins(counting_ ? session.options().compiled : nullptr, function_name(launch.kernel),
                          profile, &flow_);
}

void Trace::launch_ended() {
  settle();
  static_.forget();
  dynamic_.forget();
}

void Trace::block_begins() {
  dynamic_.attach(executor_->dynamic_shared, executor_->launch->shared_bytes);
  static_.forget();
  dynamic_.forget();
  if (grid_ == nullptr) {
    block_first_ = interval_ = next_interval();
    block_firsts_.push_back(block_first_);
    block_numbers_.push_back(executor_->block_number);
    if (!executor_->launch->cooperative) {
      if (KnownFlow::begins_wave(blocks_begun_++)) known_flow_.begin_wave();
      flow_.begin_with(known_flow_.edges(), known_flow_.known());
    }
  } else {
    block_first_ = interval_ = grid_->intervals(executor_->turn, chunk_);
    chunk_end_ = block_first_ + chunk_;
    chunks_.clear();
    flow_.begin_with(edges_, edges_.size());
    known_sites_.fill({});
  }
  clocks_.assign(executor_->warps(), WarpClock{});
  if (logs_.size() < executor_->warps()) logs_.resize(executor_->warps());
  for (WarpLog& log : logs_) log.forget();
  acquired_.clear();
  all_behind_flags();
  fences_ = fences_before_ = {};
  async_.turn_off();
  if (cluster_ != nullptr) turn_on_async();
  uses_.clear();
  waited_for_launch_ = block_waited_for_launch_ = false;
  barriers_ = 0;
  accesses_.assign(executor_->threads(), 0);
  if (recording_ != nullptr) recording_->block_begins(*executor_);
}

void Trace::block_ended() {
  settle();
  compiled_.block_ended();
  if (grid_ == nullptr) {
    interval_ = next_interval();
    if (!executor_->launch->cooperative) known_flow_.add(flow_.news());
  }
  if (profile_ != nullptr) {
    LaunchRecord& launch = grid_ != nullptr ? own_record_ : profile_->launches.back();
    launch.barriers = std::max(launch.barriers, barriers_);
    launch.thread_accesses = std::max(launch.thread_accesses, *std::ranges::max_element(accesses_));
  }
}

void Trace::barrier_passed(const char*, int) {
  interval_ = next_interval();
  all_behind_flags();
  ++barriers_;
  if (recording_ != nullptr) recording_->met(*executor_, Note::all_met);
  if (compiled_.counts()) compiled_.barrier();
  for (WarpClock& c : clocks_)
    if (c.now != 0) c = WarpClock{};
  if (async_.on()) async_.all_met(interval_);
  block_waited_for_launch_ = waited_for_launch_;
}

void Trace::warp_synchronized(unsigned warp, unsigned present) {
  settle();
  WarpClock& c = clocks_[warp];
  if (c.now < 0xFFFF) ++c.now;
  if ((present | executor_->ended(warp)) == ~0u) {
    c.full = c.now;
    segment_ended(warp);
    if (compiled_.counts()) compiled_.warp_synchronized(warp);
  } else {
    if (c.pairs.empty()) c.pairs.assign(32 * 32, 0);
    for (unsigned a = 0; a < 32; ++a)
      for (unsigned b = 0; b < 32; ++b)
        if (present >> a & present >> b & 1) c.pairs[a * 32 + b] = c.now;
  }
  for (unsigned a = 0; a < 32; ++a)
    if (present >> a & 1) c.any[a] = c.now;
}

void Trace::step(const void* pc) {
  ++executor_->lane->steps;
  executor_->step(pc);
}

inline void Trace::log_place(Lane& lane) {
  WarpLog& log = logs_[lane.warp];
  const Frame& here = lane.frames.back();
  if (log.entered(lane.lane, {here.block, here.turn, uint16_t(lane.frames.size())}) >= kLongLog)
    executor_->let_others_run();
}

void Trace::block_entered(const void* pc) {
  Lane& lane = *executor_->lane;
  ++lane.steps;
  executor_->step(pc);
  if (unsettled_) index_was_bad();
  if (!counting_) return;
  if (lane.frames.empty()) lane.frames.emplace_back();
  const auto block = reinterpret_cast<uintptr_t>(pc);
  Frame& here = lane.frames.back();
  if (here.block != 0) flow_.follows(here.block, block);
  here = {block, 0};
  log_place(lane);
}

void Trace::function_entered() {
  if (counting_) executor_->lane->frames.emplace_back();
}

void Trace::function_left() {
  Lane& lane = *executor_->lane;
  auto& frames = lane.frames;
  if (unsettled_) index_was_bad();
  if (!counting_ || frames.empty()) return;
  flow_.follows(frames.back().block, Flow::kEnd);
  frames.pop_back();
  if (frames.empty() || frames.back().block == 0) return;
  ++frames.back().turn;
  log_place(lane);
}

bool Trace::is_the_kernels(const char* p, size_t bytes) const {
  const size_t offset = static_.offset(p);
  if (offset + bytes > static_.bytes()) return false;
  // A program's dynamic shared memory is a variable too; only the launch's share of it belongs to the kernel.
  const char* arena = executor_->arena;
  if (arena != nullptr && p + bytes > arena && p < arena + kProgramArena) return false;
  if (variables_.empty()) return true;
  const uint16_t k = variable_of_[offset / 4];
  return k != 0 && offset + bytes <= variables_[k - 1].offset + variables_[k - 1].bytes;
}

void Trace::fence(bool whole_device) {
  Lane& me = *executor_->lane;
  me.fenced = true;
  is_behind_flag(me.thread);
  WarpClock& clock = clocks_[me.warp];
  // Later accesses have a larger clock, so that the fence does not cover them. Beyond the limit it does.
  if (clock.now < kMostFences) ++clock.now;
  if (fenced_.size() <= me.thread) fenced_.resize(executor_->threads());
  const Fenced fence{interval_, uint16_t(clock.now < kMostFences ? clock.now : 0xFFFF), clock.full};
  fenced_[me.thread] = fence;
  if (!whole_device) return;
  me.fenced_at = interval_;
  if (fences_.interval != interval_) {
    fences_before_ = fences_;
    fences_ = {interval_, {}};
  }
  cover(fences_.threads, me.thread, fence);
}

void Trace::copy_issued(const AsyncCopy& copy) {
  if (recording_ != nullptr) recording_->is_copy(copy.site);
  if (copy.filled > 0) access(copy.from, copy.filled, kRead | kAsync, copy.site);
  access(copy.to, copy.bytes, kWrite | kAsync, copy.site);
  for (unsigned b = 0; b < copy.bytes; b += 4) {
    char* at = copy.to + b;
    if (dynamic_.holds(at))
      dynamic_.cell(at).in_flight = true;
    else if (static_.holds(at))
      static_.cell(at).in_flight = true;
  }
  std::memset(copy.to, 0xFF, copy.bytes);  // a thread that does not wait reads NaN
}

void Trace::copy_landed(const AsyncCopy& copy) {
  for (unsigned b = 0; b < copy.bytes; b += 4) {
    char* at = copy.to + b;
    if (!static_.holds(at) && !dynamic_.holds(at)) continue;
    Cell& cell = dynamic_.holds(at) ? dynamic_.cell(at) : static_.cell(at);
    cell.in_flight = false;
    // The copy counts as a write of the waiting thread, made now.
    cell.write_interval = interval_;
    cell.writer = uint16_t(executor_->lane->thread);
    cell.write_sync = clocks_[executor_->lane->warp].now;
    cell.write_atomic = false;
    cell.defined = 0xF;
  }
}

}  // namespace klab::simt
